package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/held"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/sandbox/verifier"
)

// TestJudgeHeldOut: what the PM holds out decides, and nothing that anybody but the PM can
// read says what it is (PROOF-5).
func TestJudgeHeldOut(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	const secret = "test 14 = \"$(sh double.sh 7)\" || { echo it is not 14; exit 3; }\n"
	book := held.New([]held.Criterion{{Text: "it doubles seven", Command: "sh tests/seven.sh && echo it doubles"}, {Text: "and is short", Command: "test $(wc -c <double.sh) -lt 99"}},
		[]held.File{{Path: "tests/seven.sh", Data: []byte(secret)}})
	hash, err := book.Write(t.TempDir(), "D-1")
	if err != nil {
		t.Fatal(err)
	}
	c := newCourt(t, fmt.Sprintf("### D-1: double it\n\n- [ ] it doubles (`test \"$(sh double.sh 2)\" = 4`)\n- work: double.sh\n- max_iterations: 9\n- held: 2 %s\n", hash))
	if again, err := book.Write(c.bare, "D-1"); err != nil || again != hash {
		t.Fatal(again, err)
	}
	var mu sync.Mutex
	var shown strings.Builder
	c.Progress = func(_ string, s verifier.Step) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&shown, s.Words())
	}
	for _, step := range []struct{ work, verdict, reason string }{
		{"echo 4\n", loop.None, "not met: held out, 1 of 2"},
		{"echo $(($1 * 2))\n", loop.Exact, "every criterion is met"},
	} {
		c.write("double.sh", step.work)
		commit := c.claim()
		v := c.verdicts(commit)[0]
		if v.Verdict != step.verdict || v.Reason != step.reason || len(v.Criteria) != 3 || !v.Sound() {
			t.Fatalf("%q: %+v", step.work, v)
		}
		for n, o := range v.Criteria[1:] {
			if o.Control != "" || o.Criterion != fmt.Sprintf("held out, %d of 2", n+1) || o.Command != "held out" || o.Tail != "" || o.OutputSHA256 != "" || o.ExitCode > 1 || o.Met != (o.ExitCode == 0) {
				t.Errorf("%q: %+v", step.work, o)
			}
		}
		fmt.Fprintln(&shown, c.host("notes", "--ref="+loop.VerdictsRef, "show", commit))
	}
	// What the controls came to is the host's to know: the first has a file that was broken.
	if word, err := held.ReadWord(c.bare, "D-1", hash); err != nil || word.Commit != c.head() || !slices.Equal(word.Says, []string{loop.ControlFails, loop.ControlNotApplicable}) {
		t.Errorf("%+v, %v", word, err)
	}
	for _, words := range []string{"seven", "it is not", "wc -c", "exit 3", "tests/"} {
		if strings.Contains(shown.String(), words) {
			t.Errorf("%q is shown in\n%s", words, shown.String())
		}
	}
	if blob := c.run(c.bare, secret, "git", "hash-object", "--stdin"); strings.Contains(c.host("cat-file", "--batch-check", "--batch-all-objects"), blob) {
		t.Error("the file is an object of the repository")
	}
	file := filepath.Join(c.bare, "ward", "held", "D-1."+hash+".json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	// What is not there decides nothing: no verdict comes, and none says EXACT.
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.write("double.sh", "echo $(($1 + $1))\n")
	commit := c.claim()
	c.judgeOpen()
	if out := c.host("notes", "--ref="+loop.VerdictsRef, "list"); strings.Contains(out, commit) {
		t.Error("a verdict without what is held out:", out)
	}
}
