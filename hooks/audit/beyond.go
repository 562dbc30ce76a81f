package audit

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/hooks/push"
	"git-ward/internal/atomicfile"
	"git-ward/internal/git"
)

// maxDistinct is how many different refusals of one pusher are recorded individually in an
// hour; the door lets six times as many pushes through. Each pusher has its own count, so that
// none displaces another's records.
const maxDistinct = 300

// maxPushers is how many pushers have their own count in an hour; later ones share one.
const maxPushers = 1000

// pusher is whose count a refusal belongs to: a directive's over all its leases, a name's, or
// that of everybody unproved. "" is for people, whose refusals are all recorded.
func (r *Record) pusher() string {
	switch {
	case r.Principal == string(push.PM) || r.Principal == string(push.Member):
		return ""
	case r.Principal == string(push.Agent) && r.Worker() != "":
		return r.Principal + ":" + r.Worker()
	case r.Principal == string(push.Agent) && r.Name != "":
		return r.Principal + ":" + r.Name
	}
	return r.Principal
}

// hour is the content of ward/refusals.hour: a line with the hour and the newest record, and
// one for each pusher.
type hour struct {
	of, since int64             // when it began, in Unix time; the id of a record
	pushers   map[string]*count // by Record.pusher
}

// count is one pusher's refusals.
type count struct{ recorded, beyond int } // recorded in the hour; and only counted since the record

func hourPath(repo *git.Repo) string { return filepath.Join(repo.Dir, "ward", "refusals.hour") }

// readHour reads the counts. An unreadable file counts as empty, because it must not delay a
// push.
func readHour(repo *git.Repo) *hour {
	h := &hour{pushers: map[string]*count{}}
	f, err := os.Open(hourPath(repo))
	if err != nil {
		return h
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHourFile))
	first, rest, _ := strings.Cut(string(data), "\n")
	if n, _ := fmt.Sscanf(first, "%d %d", &h.of, &h.since); err != nil || n < 2 {
		return h
	}
	for line := range strings.Lines(rest) {
		var name string
		c := new(count)
		if n, _ := fmt.Sscanf(line, "%s %d %d", &name, &c.recorded, &c.beyond); n == 3 {
			h.pushers[name] = c
		}
	}
	return h
}

// countRefusal counts a refusal, and reports whether it exceeds the pusher's recorded ones of
// this hour: then the next record has the number. last is the newest record; the caller holds
// the writers' lock.
func countRefusal(repo *git.Repo, last int64, r *Record) (beyond bool) {
	who := r.pusher()
	if who == "" {
		return false
	}
	h, now := readHour(repo), r.Time.Truncate(time.Hour).Unix()
	for name, c := range h.pushers {
		if h.of != now {
			c.recorded = 0
		}
		if h.since != last {
			c.beyond = 0 // a record has reported it
		}
		if *c == (count{}) {
			delete(h.pushers, name)
		}
	}
	h.of, h.since = now, last
	if h.pushers[who] == nil && len(h.pushers) >= maxPushers {
		who = "*"
	}
	c := h.pushers[who]
	if c == nil {
		c = new(count)
		h.pushers[who] = c
	}
	if beyond = c.recorded >= maxDistinct; beyond {
		c.beyond++
	} else {
		c.recorded++
	}
	text := fmt.Appendf(nil, "%d %d\n", h.of, h.since)
	for name, c := range h.pushers {
		text = fmt.Appendf(text, "%s %d %d\n", name, c.recorded, c.beyond)
	}
	atomicfile.Write(hourPath(repo), text, fileMode(filepath.Dir(hourPath(repo)))) // only a count: errors are ignored
	return beyond
}

// Beyond returns, by pusher, how many refusals were only counted since the record with this
// id, nil for none.
func Beyond(repo *git.Repo, id int64) map[string]int {
	h := readHour(repo)
	if h.since != id {
		return nil // about an older record, whose counts are in the chain
	}
	var beyond map[string]int
	for name, c := range h.pushers {
		if c.beyond > 0 {
			if beyond == nil {
				beyond = map[string]int{}
			}
			beyond[name] = c.beyond
		}
	}
	return beyond
}
