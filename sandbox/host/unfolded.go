package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// unfolded are the messages that do not come into COMMS.md.
type unfolded struct {
	unsaid   map[string]*unsaid // by directive
	patience time.Duration      // how long a worker may be unable to say anything
}

// unsaid is a directive with messages that do not come into COMMS.md.
type unsaid struct {
	why   error
	since time.Time
	ended bool   // a worker was ended for it
	text  string // hash of the directive's text then
}

// muteTime is the usual patience.
const muteTime = time.Minute

var errUnfolded = errors.New("what it says does not come into COMMS.md; git ward status says why")

// Unfolded says which directives have messages that cannot come into COMMS.md, and why. Whoever
// works on one waits for that, and does nothing else. If it lasts, the worker ends, and gives its
// slot to another directive. The next begins when the messages are in, or when the PM has changed
// the directive: to try before would be to wait again.
func (h *Host) Unfolded(now map[string]error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.unfolded.unsaid
	h.unfolded.unsaid = make(map[string]*unsaid, len(now))
	for directive, why := range now {
		s := before[directive]
		if s == nil {
			s = &unsaid{since: time.Now()}
		}
		s.why, h.unfolded.unsaid[directive] = why, s
		delete(before, directive)
	}
	if len(before) > 0 {
		h.nudge()
	}
}

// endUnsaid ends the workers that could say nothing for too long.
func (h *Host) endUnsaid() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for directive, s := range h.unfolded.unsaid {
		j := h.running[directive]
		if j == nil || s.ended && s.text == j.text || min(time.Since(s.since), time.Since(j.began)) < h.unfolded.patience {
			continue
		}
		s.ended, s.text = true, j.text
		h.spec.Log.Warn().Err(s.why).Str("directive", directive).Msg("its worker ends, because what it says does not come into COMMS.md; the next begins when it does")
		j.cancel(&Ended{errUnfolded})
	}
}

// hold adds the directives that wait until what was said on them is in COMMS.md.
func (h *Host) hold(stopped map[string]bool) {
	for directive, s := range h.unfolded.unsaid {
		text := ""
		if d := h.refs.known.Directive(directive); d != nil {
			text = d.Hash
		}
		if s.ended && s.text == text {
			stopped[directive] = true
		}
	}
}

// leftUnsaid is why directives were left for what they could not say, nil for none.
func (h *Host) leftUnsaid() (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, directive := range slices.Sorted(maps.Keys(h.unfolded.unsaid)) {
		if s := h.unfolded.unsaid[directive]; s.ended && (h.spec.Only == "" || h.spec.Only == directive) {
			err = errors.Join(err, s.why)
		}
	}
	return err
}

// undone is why a finished launch left something undone.
func (h *Host) undone() (err error) {
	for _, r := range h.backoffs {
		if r.GivenUp {
			err = errors.Join(err, r.last)
		}
	}
	err = errors.Join(err, h.leftUnsaid())
	if h.spec.Only != "" && len(h.began) == 0 {
		err = errors.Join(err, h.refs.obstacle(h.spec.Only))
	}
	for _, name := range h.refs.open(h.spec.Only) {
		if until, held := h.refs.held[name]; held && until.IsZero() {
			err = errors.Join(err, diag.Hint(fmt.Errorf("nobody works on %s before a person has looked at its lease", name), "git ward lease --bare DIR says what is wrong"))
		}
	}
	if names := h.refs.open(h.spec.Only); h.spent() && len(names) > 0 {
		err = errors.Join(err, diag.Hint(fmt.Errorf("the time of this launch, [budget] time, is spent; still open: %s", strings.Join(names, ", ")), "the next launch continues them, with its own time"))
	}
	return err
}
