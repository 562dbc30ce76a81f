package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// The limits of signing in. A code has 80 bits, so that these tries cannot guess it, and is valid for one
// browser. Tries are counted by peer, so that a guesser locks out only himself; after too many tries by all
// peers the code becomes invalid. A new code is made when somebody opens the page and there is no valid one,
// but not sooner than codePause after the last, so that clients cannot flood the terminal.
const (
	codeLife    = 10 * time.Minute
	codeTries   = 5 // of one user of this machine, or one address
	allTries    = 50
	codePause   = 15 * time.Second
	sessionLife = 12 * time.Hour
	maxSessions = 64
)

// alphabet is Crockford's base 32: nothing in it is mistaken for another letter.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// logins holds the current code and the sessions. It stores hashes of sessions, so that
// comparisons take the same time whatever was sent.
type logins struct {
	now func() time.Time
	say *teller

	mu       sync.Mutex
	code     string // "" if there is no valid one
	made     time.Time
	tries    map[peer]int
	sessions map[[sha256.Size]byte]session
}

type session struct {
	peer peer
	from time.Time
}

func newLogins(now func() time.Time, say *teller) *logins {
	return &logins{now: now, say: say, sessions: map[[sha256.Size]byte]session{}}
}

// open ensures that there is a valid code, and prints a new one. It returns how long there is
// none yet.
func (d *logins) open() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	age := d.now().Sub(d.made)
	if d.code != "" && age < codeLife {
		return 0
	}
	if !d.made.IsZero() && age < codePause {
		return codePause - age
	}
	d.code, d.made, d.tries = newCode(), d.now(), map[peer]int{}
	d.say.always(fmt.Sprintf("sign in with the code %s (once, until %s)", d.code, d.made.Add(codeLife).Format("15:04")))
	return 0
}

func newCode() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	var out strings.Builder
	for i, c := range b {
		if i > 0 && i%4 == 0 {
			out.WriteByte('-')
		}
		out.WriteByte(alphabet[c%32])
	}
	return out.String()
}

// typed normalizes a code that a person typed.
func typed(code string) string {
	return strings.NewReplacer("-", "", " ", "", "\t", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(strings.TrimSpace(code)))
}

// enter begins a session with a code, which is then used up. It always makes a new session and
// ignores what the browser sent.
func (d *logins) enter(code string, who peer) (token string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.code == "" || d.now().Sub(d.made) >= codeLife || d.tries[who] >= codeTries {
		return "", false
	}
	if sha256.Sum256([]byte(typed(code))) != sha256.Sum256([]byte(typed(d.code))) {
		d.wrong(who)
		return "", false
	}
	d.code = ""
	d.trim()
	var b [32]byte
	rand.Read(b[:])
	token = hex.EncodeToString(b[:])
	d.sessions[sha256.Sum256([]byte(token))] = session{who, d.now()}
	return token, true
}

// wrong counts a wrong code.
func (d *logins) wrong(who peer) {
	d.tries[who]++
	all := 0
	for _, n := range d.tries {
		all += n
	}
	switch {
	case all >= allTries:
		d.code = ""
		d.say.line("tries", fmt.Sprintf("%d wrong codes were tried, so the code is no longer good", all))
	case d.tries[who] == codeTries:
		d.say.line("tried", fmt.Sprintf("%s tried %d wrong codes and is heard again with the next", who, codeTries))
	}
}

// trim drops expired sessions, and the oldest ones if there are too many.
func (d *logins) trim() {
	maps.DeleteFunc(d.sessions, func(_ [sha256.Size]byte, s session) bool { return d.now().Sub(s.from) >= sessionLife })
	for len(d.sessions) >= maxSessions {
		delete(d.sessions, slices.MinFunc(slices.Collect(maps.Keys(d.sessions)), func(a, b [sha256.Size]byte) int {
			return d.sessions[a].from.Compare(d.sessions[b].from)
		}))
	}
}

// inside reports whether a token is a session's, used by its own user. If another user of this
// machine sends it, it was stolen, and the session ends.
func (d *logins) inside(token string, who peer) bool {
	key := sha256.Sum256([]byte(token))
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.sessions[key]
	if !ok || d.now().Sub(s.from) >= sessionLife {
		return false
	}
	if !s.peer.same(who) {
		delete(d.sessions, key)
		d.say.line("taken", fmt.Sprintf("a session of uid %d was brought by another (uid %d): it has ended", s.peer.uid, who.uid))
		return false
	}
	return true
}

// leave ends a session.
func (d *logins) leave(token string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, sha256.Sum256([]byte(token)))
}
