package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/verifier"
)

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
	want := "run 1 of 2, criterion 1: make \\x1b[31mcheck\nrun 1 of 2, criterion 1: exit 2 after 1s\nrun 2 of 2 (all of the claim), criterion 1: ok after 0s\n"
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
	tier.Full(t, "it builds the binaries and runs a verdict")
	p := gittest.New(t)
	for line, want := range map[string]bool{"true": false, "sleep 3": true} {
		start := time.Now()
		out, err := p.Try(p.Work, nil, "", "git-ward", "verify", "--bare", p.Bare, "--unfenced", "--run", line, "refs/heads/main")
		slow := time.Since(start) > progressDelay // the machine may be, and then it is right to say something
		if said := strings.Contains(out, "run 1 of 1, line 1: "+line+"\n"); err != nil || said != want && !(said && slow) {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}
