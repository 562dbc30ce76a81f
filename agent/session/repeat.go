package session

import (
	"fmt"

	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
)

// How often a call that failed may be made again, or give the same once more, with nothing
// new that succeeded between:
// the model is told first, and then the Guard ends its work (UOW-3).
const (
	tellRepeats = 3
	maxRepeats  = 8
)

// repeats sees a model that goes round in a circle: it makes calls that failed already, or
// whose result it knows, and none that is new and succeeds. To change a file and run the
// tests again is no circle, for the change is new. Nothing that a call could wait for goes
// on between two calls.
type repeats struct {
	gave  map[string]string // what a call gave last
	again int
}

// look takes a call and what it gave, and adds a word to that, or ends the work.
func (r *repeats) look(call model.Call, result tool.Result) (tool.Result, error) {
	key := call.Name + "\x00" + string(call.Args)
	last, known := r.gave[key]
	if r.gave == nil {
		r.gave = map[string]string{}
	}
	r.gave[key] = result.Text
	repeated := known && (result.IsError || last == result.Text)
	switch {
	case repeated:
		r.again++
	case !known && !result.IsError:
		r.again = 0
	}
	if !repeated || r.again < tellRepeats {
		return result, nil
	}
	if r.again >= maxRepeats {
		return result, &stop.Stop{Kind: stop.Unfinished, Output: diag.Indent(diag.CleanLines(diag.Cut(result.Text, 2<<10))),
			Why: fmt.Sprintf("The Guard ended the work, which made no progress: calls were made again %d times that had failed or give the same, and nothing new was done between; the last one was %s %s.",
				r.again, diag.Clean(call.Name), excerpt(string(call.Args)))}
	}
	result.Text += fmt.Sprintf("\n[Ward: calls were made again %d times that had failed or give the same, and nothing new was done between. Find out why, change something, ask, or end your turn; at %d the work is ended.]", r.again, maxRepeats)
	return result, nil
}
