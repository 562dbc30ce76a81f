package notices_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if want := []string{"0", "2", "3", "4", "5", "forgotten"}; !slices.Equal(d.reported, want) {
		t.Errorf("%q", d.reported)
	}
	if d.saves != 6+1+6 || len(d.Record.Unsent) > 0 {
		t.Errorf("written down %d times, %v", d.saves, d.Record.Unsent)
	}
	for i := range 1000 {
		d.Tell(notices.Notice{Kind: fmt.Sprint("start agent/", i)})
	}
	if len(d.Record.Told) > 51 || len(d.Record.Unsent) > 20 {
		t.Errorf("%d kinds, %d notices: an agent chooses names", len(d.Record.Told), len(d.Record.Unsent))
	}
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
		if got := (notices.Notice{Status: comms.Guard, Branch: branch}).Directive(); got != want {
			t.Errorf("%q: %q", branch, got)
		}
	}
}
