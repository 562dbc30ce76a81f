package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/sandbox/verifier"
)

// TestProgress: a verdict that takes its time says which command runs and how each
// one ended, in the judge's log and on a person's stderr (LOOP-10).
func TestProgress(t *testing.T) {
	c := newCourt(t, asked)
	var log bytes.Buffer
	c.judge.log = zerolog.New(&log)
	c.Write("answer", "42\n")
	c.Write("tests/new.sh", "exit 0\n") // an addition: one more run
	c.claim()
	if c.judge.look(t.Context(), map[string]time.Time{}) {
		t.Fatal("there was no claim")
	}
	var steps []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "a command") {
			steps = append(steps, line)
		}
	}
	runs := 3 // of the directive's rung, two; and one with the addition
	if want := 2 * 3 * runs; len(steps) != want {
		t.Fatalf("%d steps, want %d:\n%s", len(steps), want, log.String())
	}
	for i, step := range steps {
		message := []string{"a command starts", "a command has ended"}[i%2]
		for _, part := range []string{message, fmt.Sprintf(`"run":%d,"runs":%d`, i/6+1, runs), fmt.Sprintf(`"additions":%v`, i/6+1 == runs), `"unit":"D-1.1"`} {
			if !strings.Contains(step, part) {
				t.Errorf("step %d lacks %s: %s", i, part, step)
			}
		}
	}
	if !strings.Contains(steps[1], `"end":"exit","exit":0`) {
		t.Error(steps[1])
	}
}

// TestProgressForPeople: what is quick stays silent; what is slow says first what
// went before.
func TestProgressForPeople(t *testing.T) {
	start := verifier.Step{Command: verifier.Command{Name: "criterion 1", Line: "make \x1b[31mcheck"}, Run: 1, Runs: 2}
	end := start
	end.Ended = &verifier.Outcome{End: verifier.Exited, Exit: 2, Time: time.Second}
	var out bytes.Buffer
	p := newProgress(&out, time.Hour)
	p.step(start)
	p.step(end)
	if out.Len() > 0 {
		t.Errorf("too early: %q", out.String())
	}
	p.show()
	end.With, end.Run, end.Ended = true, 2, &verifier.Outcome{End: verifier.Exited}
	p.step(end)
	want := "run 1 of 2, criterion 1: make \\x1b[31mcheck\nrun 1 of 2, criterion 1: exit 2 after 1s\nrun 2 of 2 (with additions), criterion 1: ok after 0s\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	p.end()
	out.Reset()
	p = newProgress(&out, time.Hour)
	p.step(start)
	p.end()
	p.show() // the timer that was about to fire
	if out.Len() > 0 {
		t.Errorf("after the end: %q", out.String())
	}
}

// TestVerifyShowsProgress: the command itself, over the two seconds.
func TestVerifyShowsProgress(t *testing.T) {
	c := newCourt(t, asked)
	for line, want := range map[string]bool{"true": false, "sleep 3": true} {
		out, err := c.Try(c.Work, nil, "", "git-ward", "verify", "--bare", c.Bare, "--unfenced", "--run", line, "refs/heads/main")
		if err != nil || strings.Contains(out, "run 1 of 1, line 1: "+line+"\n") != want {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}
