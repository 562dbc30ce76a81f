package notices_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"git-ward/bootstrap/notices"
	"git-ward/protocols/comms"
)

// desk collects what is reported, while it is not broken.
type desk struct {
	*notices.Notices
	reported []string
	broken   bool
	saves    int
}

func newDesk() *desk {
	d := &desk{}
	d.Notices = &notices.Notices{
		Record: &notices.Record{}, Save: func() { d.saves++ }, MaxPause: 5 * time.Second, Now: time.Now, Log: zerolog.Nop(),
		Report: func(_ context.Context, n notices.Notice) error {
			if d.broken {
				return errors.New("no way there")
			}
			d.reported = append(d.reported, n.Text)
			return nil
		},
	}
	return d
}

// TestTell: one incident is told once, until a run went well; what has no kind is
// told always.
func TestTell(t *testing.T) {
	d := newDesk()
	for i, n := range []notices.Notice{
		{Kind: "cpu", Code: "1"}, {Kind: "cpu", Code: "1"}, {Kind: "cpu", Code: "2"}, {Kind: "memory", Code: "2"}, {}, {},
	} {
		n.Text = fmt.Sprint(i)
		d.Tell(n)
	}
	d.Forget()
	d.Tell(notices.Notice{Kind: "cpu", Code: "2", Text: "forgotten"})
	d.Deliver(t.Context())
	if want := []string{"0 It happened 2 times by now; what follows of the same is counted, and told when it is over.", "2", "3", "4", "5", "forgotten"}; !slices.Equal(d.reported, want) {
		t.Errorf("%q", d.reported)
	}
	if d.saves != 7+1+6 || len(d.Record.Unsent) > 0 {
		t.Errorf("written down %d times, %v", d.saves, d.Record.Unsent)
	}
}

// TestManyKinds: an agent chooses some kinds, as the name of a branch, so a thousand of them
// are a few reports and one with the number of the rest; and there is no silence after
// them: an hour later something else is told.
func TestManyKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		for i := range 1000 {
			d.Tell(notices.Notice{Kind: fmt.Sprint("start agent/", i), Text: "one"})
			d.Deliver(t.Context())
		}
		if len(d.Record.Told) > 51 || len(d.Record.Unsent) > 20 || len(d.reported) != 12 {
			t.Errorf("%d kinds, %d notices, %d reports", len(d.Record.Told), len(d.Record.Unsent), len(d.reported))
		}
		time.Sleep(time.Hour) // of the test's own clock
		d.Deliver(t.Context())
		d.Tell(notices.Notice{Kind: "memory", Text: "another"})
		d.Deliver(t.Context())
		if n := len(d.reported); n != 14 || !strings.HasPrefix(d.reported[12], "988 further incidents") || d.reported[13] != "another" {
			t.Errorf("%q", d.reported[max(0, n-3):])
		}
	})
}

// TestCrashLoop: what happens again and again is one report with the number so far, and
// something else is told beside it; when a run went well the rest of the number is told,
// and it is told again.
func TestCrashLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		death := func(why string) {
			d.Tell(notices.Notice{Kind: "death", Code: why, Text: "It died: " + why + ".", Hold: true})
		}
		for range 1000 {
			death("exit 1")
			d.Deliver(t.Context())
			time.Sleep(2 * time.Second) // of the test's own clock
		}
		if len(d.reported) != 1 || !strings.HasPrefix(d.reported[0], "It died: exit 1. It happened 9 times by now") || d.Record.Again["death"] != 991 {
			t.Errorf("%q %v", d.reported, d.Record.Again)
		}
		death("killed by signal 9")
		d.Flush(t.Context())
		d.Forget()
		death("exit 1")
		time.Sleep(time.Minute) // of the test's own clock
		d.Deliver(t.Context())
		if len(d.reported) != 4 || d.reported[1] != "It died: killed by signal 9." || !strings.HasSuffix(d.reported[2], " this is over: `death` 991 times.") || d.reported[3] != "It died: exit 1." {
			t.Errorf("%q", d.reported)
		}
	})
}

// TestUnsent: of what cannot be delivered the newest wait, and the number of the rest is
// told with them.
func TestUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.broken = true
		for i := range 30 {
			d.Tell(notices.Notice{Text: fmt.Sprint(i)})
			d.Deliver(t.Context())
			time.Sleep(10 * time.Minute) // of the test's own clock
		}
		d.broken = false
		d.Deliver(t.Context())
		if n := len(d.reported); n != 21 || d.reported[0] != "10" || !strings.HasPrefix(d.reported[20], "10 further incidents") {
			t.Errorf("%q", d.reported)
		}
	})
}

// TestIDs: each notice has its own, by which a push that is repeated is known.
func TestIDs(t *testing.T) {
	d := newDesk()
	d.Tell(notices.Notice{})
	d.Tell(notices.Notice{})
	if u := d.Record.Unsent; u[0].ID == "" || u[0].ID == u[1].ID {
		t.Errorf("%+v", u)
	}
}

// TestDeliver: what cannot be delivered is tried again, with more and more time
// between, up to a bound.
func TestDeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.broken = true
		d.Tell(notices.Notice{Text: "a"})
		d.Tell(notices.Notice{Text: "b"})
		var tried []time.Duration // since the beginning
		begin := time.Now()
		report := d.Report
		d.Report = func(ctx context.Context, n notices.Notice) error {
			tried = append(tried, time.Since(begin))
			return report(ctx, n)
		}
		for range 200 {
			d.Deliver(t.Context())
			time.Sleep(100 * time.Millisecond) // of the test's own clock
		}
		if want := []time.Duration{0, 1e9, 3e9, 7e9, 12e9, 17e9}; !slices.Equal(tried, want) {
			t.Errorf("%v", tried)
		}
		d.broken = false
		time.Sleep(5 * time.Second) // of the test's own clock
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if d.Deliver(ended); d.reported != nil {
			t.Error("after the end")
		}
		if d.Deliver(t.Context()); !slices.Equal(d.reported, []string{"a", "b"}) {
			t.Errorf("%q", d.reported)
		}
	})
}

func TestDirective(t *testing.T) {
	for branch, want := range map[string]string{"agent/D-1": "D-1", "agent/D-120": "D-120", "agent/D-0": "-", "agent/D-1/x": "-", "main": "-", "": "-"} {
		n := notices.Notice{Status: comms.Guard, Branch: branch}
		if got := n.Directive(""); got != want {
			t.Errorf("%q: %q", branch, got)
		}
		if got := n.Directive("D-1"); want == "D-1" && got != "D-1" || want != "D-1" && got != "-" {
			t.Errorf("%q of who works on D-1: %q", branch, got)
		}
	}
}
