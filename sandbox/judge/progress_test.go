package judge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/tier"

	"github.com/rs/zerolog"
)

// TestProgress: a verdict that takes its time says which command runs and how each
// one ended, in the judge's log and on a person's stderr (LOOP-10).
func TestProgress(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	c := newCourt(t, asked)
	var log bytes.Buffer
	c.Log = zerolog.New(&log)
	c.write("answer", "42\n")
	c.write("tests/new.sh", "exit 0\n") // an addition: one more run
	c.claim()
	if c.judgeOpen() {
		t.Fatal("there was no claim")
	}
	var steps []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "a command") {
			steps = append(steps, line)
		}
	}
	runs := 3                                          // of the directive's rung, two; and one with the addition
	if want := 2 * 3 * (runs + 2); len(steps) < want { // one without the work, and one with each check failing
		t.Fatalf("%d steps, want %d:\n%s", len(steps), want, log.String())
	}
	for i, step := range steps[2*3*runs:] {
		if !strings.Contains(step, `"run":0,"runs":0`) || !strings.Contains(step, `"for":"before"`) && (i < 2*3 || !strings.Contains(step, `"for":"broken"`)) {
			t.Errorf("this is no control: %s", step)
		}
	}
	for i, step := range steps[:2*3*runs] {
		message := []string{"a command starts", "a command has ended"}[i%2]
		for _, part := range []string{message, fmt.Sprintf(`"run":%d,"runs":%d`, i/6+1, runs), fmt.Sprintf(`"all":%v`, i/6+1 == runs), `"unit":"D-1.1"`} {
			if !strings.Contains(step, part) {
				t.Errorf("step %d lacks %s: %s", i, part, step)
			}
		}
	}
	if !strings.Contains(steps[1], `"end":"exit","exit":0`) {
		t.Error(steps[1])
	}
}
