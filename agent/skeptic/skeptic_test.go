package skeptic

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/cycle"
	"git-ward/agent/launch"
	"git-ward/agent/model"
	"git-ward/agent/store"
	"git-ward/protocols/loop"
)

// answering is a model that says one thing, and remembers what it was shown.
type answering struct {
	text  string
	err   error
	shown model.Conversation
}

func (a *answering) Turn(ctx context.Context, c *model.Conversation) (model.Reply, error) {
	a.shown = *c
	if err := context.Cause(ctx); err != nil {
		return model.Reply{}, err
	}
	return model.Reply{Text: a.text}, a.err
}

const answer = `Here it is: {"tried": ["a loop"], "succeeded": [], "failed": [{"Lane": "C", "Text": "it is slow", "Link": null}],
"open": [], "diagnosis": "a guess", "outcome": "done", "confidence": "0.5"} That is all.`

func TestReview(t *testing.T) {
	for name, c := range map[string]struct {
		model     answering
		launch    launch.Launch
		diagnosis string // of the review; "" is an empty one
	}{
		"an answer":             {model: answering{text: answer}, diagnosis: "a guess"},
		"silence":               {},
		"prose":                 {model: answering{text: "I do not know."}},
		"trouble":               {model: answering{err: errors.New("529")}},
		"the launch's time":     {model: answering{text: answer}, launch: launch.Launch{Until: time.Now().Add(-time.Second)}},
		"a member nobody knows": {model: answering{text: `{"diagnosis": "x", "verdict": "met"}`}},
	} {
		s := &Skeptic{Model: &c.model, System: "the system", Launch: c.launch, Log: zerolog.Nop()}
		result := cycle.Result{Words: "all is well", Changes: []store.Change{{Status: "M", Path: "a.go"}}, Verdict: &loop.Verdict{Verdict: "FAIL"}}
		review, err := s.Review(t.Context(), cycle.Brief{Iteration: 3, Capsule: []byte("{}\n")}, result, []string{"done", "stuck"})
		if err != nil || review.Diagnosis != c.diagnosis {
			t.Errorf("%s: %+v, %v", name, review, err)
		}
		shown := c.model.shown.Messages[0].Text
		for _, want := range []string{"the Skeptic of iteration 3", "all is well", "M a.go\n", `"FAIL"`, "done, stuck"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: it is not told %q:\n%s", name, want, shown)
			}
		}
		if c.model.shown.System != "the system" || len(c.model.shown.Messages) != 1 {
			t.Errorf("%s: its context is not its own: %+v", name, c.model.shown)
		}
	}
	if review, err := new(Skeptic).Review(t.Context(), cycle.Brief{}, cycle.Result{}, nil); review.Tried != nil || err != nil {
		t.Errorf("without a model: %+v, %v", review, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s := &Skeptic{Model: &answering{}, Log: zerolog.Nop()}
	if _, err := s.Review(ended, cycle.Brief{}, cycle.Result{Verdict: &loop.Verdict{}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a process that is stopped: %v", err)
	}
}

// TestParse: what a model writes is bounded.
func TestParse(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`"x",`, maxItems+5), ",")
	r, err := parse(`{"tried": [` + many + `], "open": [` + many + `]}`)
	if len(r.Tried) != maxItems || len(r.Open) != maxItems || err != nil {
		t.Errorf("%d tried, %d open, %v", len(r.Tried), len(r.Open), err)
	}
	for _, text := range []string{"}{", "{", `{"tried": "x"}`, "{" + strings.Repeat(" ", maxBytes) + "}"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%.20q was read", text)
		}
	}
}
