package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
)

// TestRepeats: a circle is told, and then ended; work that goes on is neither.
func TestRepeats(t *testing.T) {
	type made struct {
		name, args string
		tool.Result
	}
	fails, same := made{"bash", `{"command":"make"}`, tool.Result{Text: "no rule [exit 2]", IsError: true}}, made{"bash", `{"command":"make | tail"}`, tool.Result{Text: "no rule"}}
	for name, c := range map[string]struct {
		next func(i int) made
		told bool
		ends bool
	}{
		"a failing command": {func(int) made { return fails }, true, true},
		"whose output differs": {func(i int) made {
			f := fails
			f.Text = fmt.Sprint("took ", i)
			return f
		}, true, true},
		"one that hides that it fails": {func(int) made { return same }, true, true},
		"two in turn":                  {func(i int) made { return []made{fails, same}[i%2] }, true, true},
		"a change and the tests, again and again": {func(i int) made {
			if i%2 == 1 {
				return fails
			}
			return made{"write_file", fmt.Sprint(i), tool.Result{Text: "written"}}
		}, false, false},
		"always another":        {func(i int) made { return made{"bash", fmt.Sprint(i), tool.Result{IsError: true}} }, false, false},
		"always another result": {func(i int) made { return made{"bash", "date", tool.Result{Text: fmt.Sprint(i)}} }, false, false},
	} {
		var r repeats
		var told, ended bool
		for i := range 40 {
			m := c.next(i)
			result, err := r.look(model.Call{Name: m.name, Args: json.RawMessage(m.args)}, m.Result)
			told = told || strings.Contains(result.Text, "[Ward: ")
			if err != nil {
				if ended = true; !stop.Is(err, stop.Unfinished) || !strings.Contains(err.Error(), "make") || i < maxRepeats {
					t.Errorf("%s: after %d calls: %v", name, i+1, err)
				}
				break
			}
		}
		if told != c.told || ended != c.ends {
			t.Errorf("%s: told %v, ended %v", name, told, ended)
		}
	}
}
