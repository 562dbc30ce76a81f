package serve

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// clock is a door's time, and what it said.
type clock struct {
	time time.Time
	said []string
}

func (c *clock) logins() *logins {
	return newLogins(func() time.Time { return c.time }, &teller{say: func(line string) { c.said = append(c.said, line) }})
}

func (c *clock) code(t *testing.T) string {
	t.Helper()
	all := codes.FindAllStringSubmatch(strings.Join(c.said, "\n"), -1)
	if all == nil {
		t.Fatalf("no code in %q", c.said)
	}
	return all[len(all)-1][1]
}

func user(uid uint32) peer { return peer{local: true, uid: uid} }

func TestCodeIsGoodOnce(t *testing.T) {
	c := &clock{time: time.Now()}
	d := c.logins()
	d.open()
	code := c.code(t)
	if _, ok := d.enter(strings.ToLower(strings.ReplaceAll(code, "-", " ")), user(1)); !ok {
		t.Error("as people type it, it is not taken")
	}
	if _, ok := d.enter(code, user(1)); ok {
		t.Error("it was good twice")
	}
	if wait := d.open(); wait <= 0 {
		t.Error("the next comes at once")
	}
	c.time = c.time.Add(codePause)
	d.open()
	if next := c.code(t); next == code {
		t.Error("the next is the same")
	} else if _, ok := d.enter(next, user(1)); !ok {
		t.Error("the next is not good")
	}
}

func TestCodeExpires(t *testing.T) {
	c := &clock{time: time.Now()}
	d := c.logins()
	d.open()
	code := c.code(t)
	c.time = c.time.Add(codeLife)
	if _, ok := d.enter(code, user(1)); ok {
		t.Error("it is good after its time")
	}
	if d.open(); c.code(t) == code {
		t.Error("the page did not bring a new one")
	}
}

// Who guesses is shut out after five; who has the code is not, until many guess.
func TestGuessing(t *testing.T) {
	c := &clock{time: time.Now()}
	d := c.logins()
	d.open()
	code := c.code(t)
	for range codeTries {
		if _, ok := d.enter("0000-0000-0000-0000", user(666)); ok {
			t.Fatal("guessed")
		}
	}
	if _, ok := d.enter(code, user(666)); ok {
		t.Error("after five wrong codes the right one was taken of the same user")
	}
	if _, ok := d.enter(code, user(1000)); !ok {
		t.Error("one user's guesses shut out another")
	}
	c.time = c.time.Add(codePause)
	d.open()
	code = c.code(t)
	for i := range allTries {
		d.enter("0", user(uint32(i)))
	}
	if _, ok := d.enter(code, user(1000)); ok {
		t.Error("after fifty wrong codes of anybody the code is still good")
	}
	printed := len(c.said)
	for range 1000 {
		d.open()
		d.enter("", user(1))
		d.enter(strings.Repeat("x", 4000), user(1))
	}
	if len(c.said) > printed+1 {
		t.Errorf("who asks prints on the owner's terminal: %d lines", len(c.said)-printed)
	}
}

func TestSessions(t *testing.T) {
	c := &clock{time: time.Now()}
	d := c.logins()
	enter := func(who peer) string {
		c.time = c.time.Add(codePause)
		d.open()
		token, ok := d.enter(c.code(t), who)
		if !ok || len(token) != 64 {
			t.Fatal(token, ok)
		}
		return token
	}
	first := enter(user(1))
	if !d.inside(first, user(1)) || d.inside("", user(1)) || d.inside(strings.Repeat("0", 64), user(1)) {
		t.Error("who is inside")
	}
	if d.inside(first, user(2)) || d.inside(first, user(1)) {
		t.Error("another user's session is good, or goes on after it was taken")
	}
	far := enter(peer{addr: netip.MustParseAddr("192.0.2.1")})
	if !d.inside(far, peer{addr: netip.MustParseAddr("192.0.2.2")}) {
		t.Error("a phone that moved has to sign in again")
	}
	if d.inside(far, user(2)) {
		t.Error("a far session is good for a user here")
	}
	old := enter(user(1))
	for range maxSessions {
		enter(user(1))
	}
	if len(d.sessions) != maxSessions || d.inside(old, user(1)) {
		t.Errorf("%d sessions", len(d.sessions))
	}
	last := enter(user(1))
	d.leave(last)
	if d.inside(last, user(1)) {
		t.Error("inside after leaving")
	}
	last = enter(user(1))
	c.time = c.time.Add(sessionLife)
	if d.inside(last, user(1)) {
		t.Error("a session without an end")
	}
}

func TestCookies(t *testing.T) {
	r := start(t, nil)
	c := browser()
	at, _ := url.Parse(r.URL())
	_, _, _ = get(t, c, r.URL()+"login")
	if len(c.Jar.Cookies(at)) != 0 {
		t.Error("a cookie before signing in")
	}
	fixed := strings.Repeat("f", 64)
	c.Jar.SetCookies(at, []*http.Cookie{{Name: r.cookieName(), Value: fixed, Path: "/"}})
	res, err := c.PostForm(r.URL()+"login", url.Values{"code": {r.code(t)}, "next": {"//evil.example"}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	cookie := res.Header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="} {
		if !strings.Contains(cookie, part) {
			t.Errorf("no %s in %q", part, cookie)
		}
	}
	if strings.Contains(cookie, fixed) || strings.Contains(cookie, "Domain") || res.Header.Get("Location") != "/" {
		t.Errorf("%q, to %q", cookie, res.Header.Get("Location"))
	}
	// Another port of this host sets a cookie of our name for a longer path, which comes first.
	req, _ := http.NewRequest("GET", r.URL()+"d/D-1", nil)
	req.Header.Set("Cookie", r.cookieName()+"=tossed; "+strings.SplitN(cookie, ";", 2)[0])
	if res, err := browser().Do(req); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a tossed cookie: %v %v", res.Status, err)
	}
	if res, err := c.Post(r.URL()+"logout", "", nil); err != nil || res.StatusCode != http.StatusSeeOther {
		t.Errorf("signing out: %v %v", res, err)
	}
	req.Header.Set("Cookie", strings.SplitN(cookie, ";", 2)[0])
	if res, err := browser().Do(req); err != nil || res.StatusCode != http.StatusSeeOther {
		t.Errorf("after signing out: %v %v", res.Status, err)
	}
}

// One code opens one session, however many send it at a time.
func TestCodeRaced(t *testing.T) {
	r := start(t, nil)
	code := r.code(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	inside := 0
	for range 20 {
		all.Go(func() {
			res, err := browser().PostForm(r.URL()+"login", url.Values{"code": {code}})
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			if res.StatusCode == http.StatusSeeOther {
				mu.Lock()
				inside++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if inside != 1 {
		t.Errorf("%d sessions of one code", inside)
	}
}

// A browser sends our cookie to any port of the host, so another local user can come by it:
// it is of no use to him, and the owner is told.
func TestAnotherUserWithTheCookie(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil || os.Getuid() != 0 {
		t.Skip("SKIPPED: it needs root, to be another user, and curl (scripts/setup --tests)")
	}
	r := start(t, nil)
	c := r.signedIn(t)
	at, _ := url.Parse(r.URL())
	as := func(uid uint32) string {
		cmd := exec.Command(curl, "-s", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "*", "-b", c.Jar.Cookies(at)[0].String(), r.URL())
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := as(0); got != "200" {
		t.Errorf("the same user: %s", got)
	}
	if got := as(65534); got != "303" {
		t.Errorf("another user: %s", got)
	}
	if !strings.Contains(r.lines(), "uid 65534") {
		t.Errorf("the owner reads: %s", r.lines())
	}
}
