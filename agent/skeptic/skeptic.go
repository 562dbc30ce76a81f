// Package skeptic asks a model, in a fresh context, what an iteration taught (LOOP-8), and
// validates the answer.
package skeptic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"git-ward/agent/cycle"
	"git-ward/agent/launch"
	"git-ward/agent/model"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

// Skeptic types the learnings of iterations.
type Skeptic struct {
	Model     model.Model // nil: only the verdict's facts are learned
	System    string      // SYSTEM.md and COMMS.md
	Directive comms.Directive
	Launch    launch.Launch
	Log       zerolog.Logger
}

// Review asks the model to type what was learned. Outcomes are those that the unit's
// policy knows. A model that has nothing to say, or says it wrongly, leaves the
// verdict's facts.
func (s *Skeptic) Review(ctx context.Context, b cycle.Brief, r cycle.Result, outcomes []string) (cycle.Review, error) {
	if s.Model == nil {
		return cycle.Review{}, nil
	}
	verdict, err := r.Verdict.Line()
	if err != nil {
		return cycle.Review{}, err
	}
	talk := model.Conversation{System: s.System, Directive: s.Directive.Name(), Title: s.Directive.Title.String(), Iteration: b.Iteration, Role: string(loop.Skeptic),
		Messages: []model.Message{{Role: model.User, Text: prompt(b, r, verdict, strings.Join(outcomes, ", "))}}}
	timed, cancel := s.Launch.Context(ctx)
	defer cancel()
	reply, err := s.Model.Turn(timed, &talk)
	if err != nil {
		if ctx.Err() != nil {
			return cycle.Review{}, err
		}
		s.Log.Warn().Err(err).Msg("no review; the verdict's facts are all that is learned")
		return cycle.Review{}, nil
	}
	review, err := parse(reply.Text)
	if err != nil {
		s.Log.Warn().Err(err).Msg("the review cannot be read; the verdict's facts are all that is learned")
	}
	return review, nil
}

// prompt is all that the Skeptic is told.
func prompt(b cycle.Brief, r cycle.Result, verdict []byte, outcomes string) string {
	var changes strings.Builder
	for _, c := range r.Changes {
		fmt.Fprintf(&changes, "%s %s\n", c.Status, c.Path)
	}
	return fmt.Sprintf(`You are the Skeptic of iteration %d. You did not do its work, and its words are guesses until something verified them.

# The capsule

%s
# What the Solver said

%s

# What it changed

%s
# The host's verdict

%s

# Your answer

One JSON object and nothing else: {"tried": [text], "succeeded": [{"Lane": "B", "Text": text, "Link": null}], "failed": [{"Lane": "C", "Text": text, "Link": null}], "open": [text], "diagnosis": text, "outcome": word, "confidence": decimal}.
Outcome and confidence may be "": outcomes that the policy knows are %s.
Each text is one sentence for a reader who knows only the repository. A success is of lane B; a failure is of lane C, a guess. What the verdict says is written down already.
`, b.Iteration, b.Capsule, r.Words, changes.String(), verdict, outcomes)
}

const (
	maxItems = 20       // entries of one list in a review
	maxBytes = 64 << 10 // of a review
)

// parse finds the JSON object in the Skeptic's text. Empty text is an empty review; the error
// is for text without a review.
func parse(text string) (cycle.Review, error) {
	var r cycle.Review
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	switch {
	case strings.TrimSpace(text) == "":
		return r, nil
	case start < 0 || end < start || end-start > maxBytes:
		return r, errors.New("there is no JSON object in it")
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text[start : end+1])))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return cycle.Review{}, err
	}
	r.Tried, r.Open = r.Tried[:min(len(r.Tried), maxItems)], r.Open[:min(len(r.Open), maxItems)]
	r.Succeeded, r.Failed = r.Succeeded[:min(len(r.Succeeded), maxItems)], r.Failed[:min(len(r.Failed), maxItems)]
	return r, nil
}
