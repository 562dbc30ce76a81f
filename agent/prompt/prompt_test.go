package prompt

import (
	"flag"
	"os"
	"strings"
	"testing"

	"git-ward/protocols/comms"
)

var update = flag.Bool("update", false, "write testdata/*.md anew")

// whole is a prompt that has everything.
func whole(t *testing.T, kind Kind) *Prompt {
	t.Helper()
	doc, found := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: greet\n\nSay hello.\n\n- [ ] it greets (`sh hello.sh`)\n- [ ] it is kind\n\n## Reports\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	return &Prompt{
		Kind: kind, System: "You are an agent.\n# COMMS\n", Directive: doc.Directives[0], Branch: "agent/D-1", Judged: true, Kept: true,
		Clarifications: []string{"use the second parser", "two\nlines"}, Orientation: "L1 self-awareness\n  Ward\n",
		Guidance: "# What the project says\n\nTabs.\n", Lessons: "# Lessons of earlier directives\n\n- L-1\n",
		Capsule: "{\"a\":1}\n", CapsulePath: ".ward/evidence/D-1/loop/iter_0/cnf_capsule.json", Learnings: "- [A] it is so\n",
		Skills: []Skill{{"look", "Look first.\n"}}, Scouted: "hello.sh:1 greets.\n",
		MaxCalls: 80, PlanPath: ".ward/plans/D-1.plan.txt", ResearchPath: ".ward/plans/D-1.research.plan.txt", Grammar: "## The grammar\n\nset_plan\n",
		AskPath: "/bot/ask", Refusal: "a:1: r/x: no\n",
	}
}

// TestText: the three prompts, whole, as files that a person can read and compare.
func TestText(t *testing.T) {
	for _, kind := range Kinds() {
		name := "testdata/" + string(kind) + ".md"
		got := whole(t, kind).Text()
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil || got != string(want) {
			t.Errorf("%s differs (go test ./agent/prompt -update): %v\n%s", name, err, got)
		}
		if strings.Contains(got, "\n\n\n") {
			t.Errorf("%s: blank lines follow one another", kind)
		}
	}
}

// TestLeftOut: what is empty leaves neither heading nor gap.
func TestLeftOut(t *testing.T) {
	for _, kind := range Kinds() {
		p := whole(t, kind)
		got := (&Prompt{Kind: kind, System: p.System, Directive: p.Directive, Branch: p.Branch, PlanPath: p.PlanPath}).Text()
		for _, no := range []string{"What the PM says", "Orientation\n", "capsule", "learnt", "Skills", "refused", "not committed", "the file ", "\n\n\n"} {
			if strings.Contains(got, no) {
				t.Errorf("%s: %q is told, and nothing of it:\n%s", kind, no, got)
			}
		}
	}
}

func TestSystem(t *testing.T) {
	for _, c := range []struct{ system, comms, want string }{
		{"You are.\n", "# COMMS\n", "You are.\n# COMMS\n"},
		{"You are.", "# COMMS\n", "You are.\n# COMMS\n"},
		{"", "# COMMS\n", "# COMMS\n"},
		{"a\r\n\xff", "b", "a\r\n\xff\nb"},
	} {
		if got := System([]byte(c.system), []byte(c.comms), "D-1", "refs/remotes/origin/main"); got != c.want {
			t.Errorf("%q", got)
		}
	}
}
