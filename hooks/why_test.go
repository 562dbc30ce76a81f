package hooks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/hooks/origin"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/state"
)

// whyScript is what the model of TestWhy does: two directives in two iterations each.
const whyScript = `{"directive":"D-1","iteration":0,"text":"half","calls":[{"name":"bash","args":{"command":"echo d1-first >>lib.txt; git add -A; git commit -qm 'first half'"}}]}
{"directive":"D-1","iteration":0,"text":"half"}
{"directive":"D-1","iteration":1,"text":"whole","calls":[{"name":"bash","args":{"command":"echo d1-second >>lib.txt"}}]}
{"directive":"D-1","iteration":1,"text":"done"}
{"directive":"D-2","iteration":0,"text":"half","calls":[{"name":"bash","args":{"command":"sed -i 1id2-top lib.txt; git mv moved.txt 'we:3 ird'; git add -A; git commit -qm 'D-2 begins'"}}]}
{"directive":"D-2","iteration":0,"text":"half"}
{"directive":"D-2","iteration":1,"text":"whole","calls":[{"name":"bash","args":{"command":"echo d2-end >>lib.txt"}}]}
{"directive":"D-2","iteration":1,"text":"done"}
{"directive":"D-3","text":"one","calls":[{"name":"bash","args":{"command":"echo d3 >>lib.txt"}}]}
{"directive":"D-3","text":"done"}
{"directive":"D-4","iteration":0,"text":"one","calls":[{"name":"bash","args":{"command":"echo d4 >>picked.txt; git add -A; git commit -qm 'D-4 to pick'"}}]}
{"directive":"D-4","iteration":0,"text":"done"}
`

// story is a project with a history that Ward, a PM and git alone wrote.
type story struct {
	*gittest.Pair
	state string
}

// directive pushes a directive, has the agent work on it, and comes back to its work.
func (s *story) directive(name, criterion string) {
	s.T.Helper()
	s.Git("pull", "--quiet", "--rebase")
	data, err := os.ReadFile(filepath.Join(s.Work, "COMMS.md"))
	if err != nil {
		s.T.Fatal(err)
	}
	text := fmt.Sprintf("### %s: about %s\n\n- [ ] it is there (`%s`)\n- max_iterations: 3\n- work: lib.txt, moved.txt, picked.txt\n\n## Reports\n", name, name, criterion)
	s.Write("COMMS.md", strings.Replace(string(data), "## Reports\n", text, 1))
	s.save("directive " + name)
	s.Run(s.Work, "git-ward", "launch", "--unfenced", "--once", "--model", "script", "--bare", s.Bare, "--state", s.state)
	s.Git("pull", "--quiet", "--rebase")
}

// save commits all and pushes it as the PM.
func (s *story) save(subject string) {
	s.T.Helper()
	s.Git("add", "--all")
	s.Git("commit", "--quiet", "-m", subject)
	if out, err := s.Push("HEAD:main"); err != nil {
		s.T.Fatal(out)
	}
}

// why asks, and returns the reasons.
func (s *story) why(dir string, args ...string) []origin.Reason {
	s.T.Helper()
	var answer struct{ Reasons []origin.Reason }
	out := s.Run(dir, "git-ward", append([]string{"why", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		s.T.Fatalf("%v: %s", err, out)
	}
	return answer.Reasons
}

// one is what git prints, of one line.
func (s *story) one(args ...string) string { return strings.TrimSpace(s.Git(args...)) }

// elsewhere asks where the ways of git have led: a clone without the host's notes, a commit
// that was picked.
func (s *story) elsewhere() {
	s.T.Helper()
	clone := filepath.Join(s.T.TempDir(), "clone")
	s.Run(s.Bare, "git", "clone", "--quiet", s.Bare, clone)
	s.Run(clone, "git", "fetch", "--quiet", "origin", "refs/ward/*:refs/ward/*")
	for line, reason := range map[string]string{"lib.txt:1": "directive D-2 D-2.1 #1 squash by", "lib.txt:4": "directive D-1 D-1.1 #2 merge by"} {
		if got := s.why(clone, line); len(got) != 1 || strings.TrimSpace(short(got[0])) != reason {
			s.T.Errorf("%s in a clone without notes: %+v, want %s", line, got, reason)
		}
	}
	s.directive("D-4", "grep -q d4 picked.txt")
	s.Git("fetch", "--quiet")
	s.Git("cherry-pick", s.one("log", "-1", "--format=%H", "--grep=D-4 to pick", "origin/agent/D-4"))
	if out, err := s.Push("HEAD:main"); err != nil {
		s.T.Fatal(out)
	}
	s.Git("fetch", "--quiet")
	if got := s.why(s.Work, "picked.txt:1"); len(got) != 1 || short(got[0]) != "person commit by pm" {
		s.T.Errorf("picked: %+v", got)
	}
	// The host has seen a forge make that commit of the claimed one.
	s.Run(s.Bare, "git", "update-ref", state.TakenPrefix+s.one("rev-parse", "origin/agent/D-4"), s.one("rev-parse", "HEAD"))
	if got := s.why(s.Bare, "picked.txt:1"); len(got) != 1 || short(got[0]) != "directive D-4 D-4.1 #1 EXACT squash by pm" {
		s.T.Errorf("squashed by a forge: %+v", got)
	}
}

// short is a reason in a few words.
func short(r origin.Reason) string {
	text := string(r.Kind)
	if r.Directive != "" {
		text += fmt.Sprintf(" %s %s #%d", r.Directive, r.Unit, r.Iteration)
	}
	if r.Verdict != nil {
		text += " " + r.Verdict.Word
	}
	if r.Taken != nil {
		text += fmt.Sprintf(" %s by %s", r.Taken.How, strings.TrimSuffix(r.Taken.Who, " "))
	}
	return text
}

// TestWhy plays a history of takes by merge, by squash and by git alone, of a PM's edits
// between them, and asks about each line. The commits are those of git blame (SEE-4).
func TestWhy(t *testing.T) {
	tier.Full(t, "an agent works on four directives")
	s := &story{gittest.New(t), filepath.Join(t.TempDir(), "state")}
	s.Write("script.jsonl", whyScript)
	s.Write("lib.txt", "pm-first\n")
	s.Write("moved.txt", "one\ntwo\nthree\nfour\n")
	s.save("a library")
	s.directive("D-1", "grep -q d1-second lib.txt")
	s.Run(s.Work, "git-ward", "take", "D-1")
	s.Write("lib.txt", "pm-first\nd1-first, better\nd1-second\n")
	s.save("a better first line")
	s.directive("D-2", "grep -q d2-end lib.txt")
	s.Run(s.Work, "git-ward", "take", "--squash", "D-2")
	s.directive("D-3", "grep -q d3 lib.txt")
	s.Git("fetch", "--quiet")
	s.Git("merge", "--quiet", "--no-edit", "origin/agent/D-3")
	if out, err := s.Push("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	s.Git("fetch", "--quiet")
	s.Write("lib.txt", s.Git("show", "HEAD:lib.txt")+"not yet\n")

	want := []string{
		"directive D-2 D-2.1 #1 EXACT squash by pm", // d2-top
		"person commit by pm",                       // pm-first
		"person commit by pm",                       // d1-first, better
		"directive D-1 D-1.1 #2 EXACT merge by pm",  // d1-second
		"directive D-2 D-2.1 #2 EXACT squash by pm", // d2-end
		"directive D-3 D-3.1 #1 EXACT merge by pm",  // d3
		"uncommitted",
	}
	for i, reason := range want {
		got := s.why(s.Work, fmt.Sprintf("lib.txt:%d", i+1))
		if len(got) != 1 || short(got[0]) != reason {
			t.Errorf("line %d: %+v, want %s", i+1, got, reason)
		}
	}
	s.Git("checkout", "--quiet", "lib.txt")
	lines := 0
	for _, r := range s.why(s.Bare, "lib.txt") {
		for line := r.First; line <= r.Last; line++ {
			lines++
			blamed, _, _ := strings.Cut(s.Git("blame", "--porcelain", fmt.Sprintf("-L%d,%d", line, line), "HEAD", "--", "lib.txt"), " ")
			if r.Commit != blamed && (r.Taken == nil || r.Taken.How != "squash" || r.Taken.Commit != blamed) {
				t.Errorf("line %d is of %s, and git blames %s", line, r.Commit, blamed)
			}
		}
	}
	if lines != len(want)-1 {
		t.Errorf("%d lines have reasons", lines)
	}
	for arg, reason := range map[string]string{
		"we:3 ird:4":               "person commit by pm", // a moved file's lines are whose they were
		s.one("rev-parse", "HEAD"): "directive D-3 D-3.1 #1 EXACT merge by pm",
		s.one("log", "-1", "--format=%H", "--grep=Ward-Taken"):           "directive D-2 D-2.1 #2 EXACT squash by pm",
		s.one("log", "-1", "--format=%H", "--grep=report D-1"):           "person commit by agent ward-fold",
		s.one("rev-list", "--max-parents=0", "HEAD"):                     "older",
		s.one("log", "-1", "--all", "--format=%H", "--grep=^D-2 begins"): "directive D-2 D-2.1 #1 NONE",
	} {
		if got := s.why(s.Work, arg); len(got) != 1 || short(got[0]) != reason {
			t.Errorf("%s: %+v, want %s", arg, got, reason)
		}
	}
	s.elsewhere()
	if text := s.Run(s.Work, "git-ward", "why", "--rev", "HEAD~1", "we:3 ird"); !strings.Contains(text, "is no directive's") {
		t.Error(text)
	}
	for _, bad := range []string{"gone.txt", "gone.txt:1", "lib.txt:99", "../x", "D-1", ":(glob)*"} {
		if out, err := s.Try(s.Work, nil, "", "git-ward", "why", bad); err == nil || !strings.Contains(out, "hint: ") {
			t.Errorf("%s: %v %s", bad, err, out)
		}
	}
	s.Fsck()
}
