package verifier

import (
	"slices"
	"testing"
)

// TestRewritten: a command that starts the work before its tests lets it rewrite them. It is
// named, also where the work puts back what was there; what the command rewrites of itself, and
// what is work, is not.
func TestRewritten(t *testing.T) {
	for name, c := range map[string]struct {
		tool string // the work
		want []string
	}{
		"honest":              {"echo 42 >answer", nil},
		"rewrites":            {"echo true >check.sh", []string{"check.sh"}},
		"puts back":           {"cp check.sh k; echo mv k check.sh >check.sh", []string{"check.sh"}},
		"moves the directory": {"echo 42 >answer; cp -r pkg other; mv pkg old; mv other pkg", []string{"pkg/a_test.go"}},
		"takes a right":       {"echo 42 >answer; chmod 700 check.sh", []string{"check.sh"}},
		"its own file":        {"echo 42 >answer; echo true >>tool.sh", nil},
	} {
		r, claim := claimed(t)
		claim.Main = r.commit(files{"tool.sh": ":\n", "log": "\n"})
		claim.Work = []string{"tool.sh"}
		claim.Commit = r.commit(files{"tool.sh": c.tool + "\n"})
		claim.Commands[0].Line = "echo run >>log; sh tool.sh && sh check.sh && cat pkg/*"
		f, err := r.verify(claim)
		if err != nil {
			t.Fatal(err)
		}
		// "answer" is no work either, but what each of these is asked for.
		got := slices.DeleteFunc(f.Rewritten, func(name string) bool { return name == "answer" })
		if !f.OK() || !slices.Equal(got, c.want) || f.RewrittenNot != "" || f.NotObserved != "" {
			t.Errorf("%s: rewritten %q, not %q; %q %q; %+v", name, got, c.want, f.RewrittenNot, f.NotObserved, f.Replays)
		}
	} // A claim that changes nothing rewrites nothing: that is the command's own.
	r, claim := claimed(t)
	claim.Commit = claim.Main
	claim.Commands[0].Line = "echo run >>README"
	if f, err := r.verify(claim); err != nil || !f.OK() || !f.Same || len(f.Rewritten) > 0 {
		t.Errorf("nothing changed: %v, %+v", err, f)
	}
}
