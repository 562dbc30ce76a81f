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

// repeats detects a model that goes in circles: it repeats calls that failed or whose result
// it knows, without any new successful one. Changing a file and running the tests again is no
// circle, because the change is new. Nothing changes by itself between two calls, so waiting
// does not help.
type repeats struct {
	gave  map[string]string // the call's last result
	again int
}

// look takes a call with its result, and adds a warning to it or ends the work.
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
