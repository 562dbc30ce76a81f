package terminal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/live"
)

// Follow prints one line for each change, without moving the cursor, until the context ends or the writer
// fails. It returns that error.
func Follow(ctx context.Context, looker *Looker, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var p printer
	looker.Run(ctx, func(s Scene) {
		for _, line := range p.lines(s) {
			if _, err := fmt.Fprintln(out, line); err != nil {
				cancel(err)
				return
			}
		}
	})
	return context.Cause(ctx)
}

// printer remembers what was printed.
type printer struct {
	begun    bool
	host     string
	states   map[string]string    // by directive: its last printed state
	workers  map[string]string    // by directive: who works on it
	waiting  map[string]bool      // by key
	verdicts map[string]time.Time // by unit: of the last line about one that runs
	trouble  string
}

// verdictInterval is the time between two lines about a verdict that runs.
const verdictInterval = 10 * time.Second

// oldWords is how many earlier events are printed for a directive named on the command line.
const oldWords = 10

// lines returns lines for what is new in a scene.
func (p *printer) lines(s Scene) (list []string) {
	now := clock(s.Now)
	say := func(format string, args ...any) { list = append(list, now+" "+fmt.Sprintf(format, args...)) }
	if s.Trouble != p.trouble {
		if p.trouble = s.Trouble; s.Trouble != "" {
			say("trouble: %s", foreign(s.Trouble))
		} else {
			say("the trouble is over")
		}
	}
	if s.Over == nil {
		return list
	}
	if host := hostWords(s); host != p.host {
		p.host = host
		say("%s: %s", foreign(s.Over.Repository), host)
	}
	p.standings(s, say)
	p.working(s, say)
	p.judging(s, say)
	events := s.New
	if !p.begun {
		p.begun = true
		events = s.Live[max(0, len(s.Live)-oldWords):]
	}
	for _, e := range events {
		if line := eventLine(e); line != "" && (s.Name == "" || e.Directive() == s.Name) {
			list = append(list, line)
		}
	}
	return list
}

// standings adds lines for changed states of directives and for new items that wait.
func (p *printer) standings(s Scene, say func(string, ...any)) {
	if p.states == nil {
		p.states, p.waiting = map[string]string{}, map[string]bool{}
	}
	if s.NotThere && p.states[s.Name] == "" {
		p.states[s.Name] = "none"
		say("there is no directive %s: git ward directive show", foreign(s.Name))
	}
	for _, d := range s.Over.Directives {
		words := foreign(d.Words)
		old, known := p.states[d.Directive]
		p.states[d.Directive] = words
		if old == words || !known && !p.begun && d.State.Over() && s.Name == "" || s.Name != "" && s.Name != d.Directive {
			continue
		}
		if len(d.Spent.Cost().Lines()) > 0 {
			words += "; " + foreign(d.Spent.Words())
		}
		say("%s %s: %s", d.Directive, d.Title.String(), words)
	}
	waiting := map[string]bool{}
	for _, w := range s.Over.Waiting {
		waiting[w.Key] = true
		if p.waiting[w.Key] || s.Name != "" && w.Directive != s.Name {
			continue
		}
		who := cmp.Or(w.Directive, "Ward")
		say("%s waits for %s: %s: %s", who, w.For, foreign(w.What), foreign(s.typed(w.Command)))
	}
	p.waiting = waiting
}

// working adds lines for workers that began or stopped to work on a directive.
func (p *printer) working(s Scene, say func(string, ...any)) {
	workers := map[string]string{}
	for _, w := range s.Over.Workers {
		if !s.Over.Several() {
			break
		}
		name := w.Directive
		if name == "" || s.Name != "" && s.Name != name {
			continue
		}
		workers[name] = w.Holder + w.Doing + w.Why
		if p.workers[name] != workers[name] {
			say("%s worker: %s", foreign(name), foreign(w.Words))
		}
	}
	p.workers = workers
}

// judging adds lines for the progress of verdicts.
func (p *printer) judging(s Scene, say func(string, ...any)) {
	told := map[string]time.Time{}
	defer func() { p.verdicts = told }()
	if s.Over.Host == nil {
		return
	}
	for _, v := range s.Over.Host.Verdicts {
		told[v.Unit] = p.verdicts[v.Unit]
		if s.Now.Sub(told[v.Unit]) < verdictInterval || s.Name != "" && !strings.HasPrefix(v.Unit, s.Name+".") {
			continue
		}
		told[v.Unit] = s.Now
		say("%s verdict: %s", foreign(v.Unit), foreign(v.Words))
	}
}

// eventLine is an event on one line; "" for one that is a sign of life only.
func eventLine(e live.Event) string {
	if e.Kind == live.Beat {
		return ""
	}
	word, _ := eventWords(e)
	return fmt.Sprintf("%s %s %s %s", clock(e.Time), foreign(e.Unit), word, shortened(foreign(eventText(e))))
}

// lineSize bounds the words of one line, in bytes.
const lineSize = 600

// shortened cuts a text to lineSize bytes and says how much is missing.
func shortened(text string) string {
	if len(text) <= lineSize {
		return text
	}
	return fmt.Sprintf("%s [%d bytes more]", diag.Cut(text, lineSize), len(text)-lineSize)
}
