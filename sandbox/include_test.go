package sandbox

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

const makes = `### D-1: the answer

- [ ] the check passes (` + "`make check`" + `)
`

// TestAsksToInclude: a loop whose work passes only with what is no work asks, and the PM's
// word on it is the answer: the same commit is judged again, and no iteration is spent.
func TestAsksToInclude(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	const script = `{"directive":"D-1","text":"Done.","calls":[{"name":"bash","args":{"command":"printf 'check:\n\ttrue\n' > GNUmakefile"}}]}
{"directive":"D-1","text":"It passes."}
`
	p, launch := asking(t, "false", script)
	launch()
	report := ended(t, p, map[string]string{"D-1": "EXIT_NEED_INFO"})
	if strings.Count(report, "### Q-") != 1 || !strings.Contains(report, "\n    - not work, so left out of the deciding run: GNUmakefile (added)\n") ||
		!strings.Contains(report, "\n    Next: git ward include D-1 (") || !strings.Contains(report, "\n    Nobody but you can say whether this is done") {
		t.Fatalf("no such question in\n%s", report)
	}
	launch() // nobody has answered: nothing is begun
	if again := ended(t, p, nil); again != report {
		t.Errorf("without an answer:\n%s", again)
	}
	claimed := verdictCommit(t, p, "D-1")
	if out, err := p.Try(p.Work, nil, "", "git-ward", "review", "D-1"); err != nil || !strings.Contains(out, "\nnext: git ward include D-1\n") {
		t.Errorf("review: %v\n%s", err, out)
	}
	for _, bad := range []string{"include D-2", "include D-1 Makefile", "include"} {
		if out, err := p.Try(p.Work, nil, "", "git-ward", strings.Fields(bad)...); err == nil {
			t.Errorf("%s:\n%s", bad, out)
		}
	}
	out, err := p.Try(p.Work, nil, "", "git-ward", "include", "D-1")
	if err != nil || !strings.Contains(out, "D-1 includes 1 path: pushed to main as ") {
		t.Fatal(err, out)
	}
	launch()
	report = ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED"})
	if commit := verdictCommit(t, p, "D-1"); commit != claimed {
		t.Errorf("%s was judged, and %s was included", commit, claimed)
	}
	if !strings.Contains(report, "Done: every criterion is met after 1 iteration ") {
		t.Errorf("the word has cost an iteration:\n%s", report)
	}
	v, err := loop.ParseVerdicts([]byte(p.Run(p.Bare, "git", "notes", "--ref=certificates", "show", claimed)))
	if err != nil || len(v) == 0 || v[len(v)-1].Verdict != loop.Exact || len(v[len(v)-1].Left) > 0 || strings.Join(v[len(v)-1].Included, " ") != "GNUmakefile" {
		t.Errorf("%+v, %v", v, err)
	}
	p.Fsck()
}

// TestAsksAboutGuards: a loop whose criteria all held before its work asks as well, and the
// PM's word is that they are enough, or a test of the claim's that fails without the work. A
// word that proves nothing has him asked again.
func TestAsksAboutGuards(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: python3 is not on this machine (scripts/setup --tests)")
	}
	const test = "import unittest\nfrom calc import %[1]s\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(%[1]s())\n"
	worked := func(directive, name string, tested bool) string {
		command := fmt.Sprintf("printf 'def %s():\n    return True\n' >>calc/__init__.py", name)
		if tested {
			command += fmt.Sprintf(" && cat >tests/test_%s.py <<'EOF'\n%sEOF\n", name, fmt.Sprintf(test, name))
		}
		calls, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("{\"directive\":%q,\"text\":\"Done.\",\"calls\":[{\"name\":\"bash\",\"args\":{\"command\":%s}}]}\n{\"directive\":%[1]q,\"text\":\"It passes.\"}\n", directive, calls)
	}
	p := gittest.New(t)
	p.Write("pyproject.toml", "[project]\nname = \"calc\"\n")
	p.Write("calc/__init__.py", "def one():\n    return True\n")
	p.Write("tests/__init__.py", "")
	p.Write("tests/test_one.py", fmt.Sprintf(test, "one"))
	p.Write("script.jsonl", worked("D-1", "two", false)+worked("D-2", "four", true)+
		`{"directive":"D-3","text":"Done.","calls":[{"name":"bash","args":{"command":"echo more >notes.txt"}}]}`+"\n"+`{"directive":"D-3","text":"It passes."}`+"\n")
	const asks = "### %s: more\n\n- [ ] the tests pass (`python3 -m unittest discover -s tests -t .`)\n\n"
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+fmt.Sprintf(asks, "D-1")+fmt.Sprintf(asks, "D-2")+fmt.Sprintf(asks, "D-3")+"## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directives")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	launch := func() {
		t.Helper()
		if out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
			"--state", filepath.Join(filepath.Dir(p.Bare), "state")); err != nil {
			t.Fatal(err, out)
		}
	}
	launch()
	report := ended(t, p, map[string]string{"D-1": "EXIT_NEED_INFO", "D-2": "EXIT_NEED_INFO", "D-3": "EXIT_NEED_INFO"})
	for _, want := range []string{"criteria that all held before the work", "\n    Next: git ward include D-1 ("} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is not in\n%s", want, report)
		}
	}
	include := func(words map[string]string) {
		t.Helper()
		for directive, word := range words {
			out, err := p.Try(p.Work, nil, "", "git-ward", "include", directive)
			if err != nil || !strings.Contains(out, directive+" includes "+word+": pushed to main as ") {
				t.Fatal(err, out)
			}
		}
		launch()
	}
	const guards = "criteria that held before the work"
	include(map[string]string{"D-1": guards, "D-2": "1 path", "D-3": "1 path"})
	ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED", "D-2": "EXIT_CONVERGED", "D-3": "EXIT_NEED_INFO"})
	include(map[string]string{"D-3": guards})
	report = ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED", "D-2": "EXIT_CONVERGED", "D-3": "EXIT_CONVERGED"})
	if strings.Count(report, "Done: every criterion is met after 1 iteration ") != 3 {
		t.Errorf("a word has cost an iteration:\n%s", report)
	}
	p.Fsck()
}

// TestHoldsAlready: a loop that finds nothing to change has the host run the criteria on what
// there is. Where the PM wrote that they may hold it is done; else he is asked; and what does
// not hold is said.
func TestHoldsAlready(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	nothing := func(directive string) string {
		return fmt.Sprintf("{\"directive\":%q,\"text\":\"It is done already.\"}\n", directive)
	}
	p, launch := asking(t, "true", nothing("D-2")+nothing("D-3")+nothing("D-4"))
	asks := func(n int, line, more string) string {
		return fmt.Sprintf("### D-%d: the answer\n\n- [ ] the check passes (`%s`)\n%s\n", n, line, more)
	}
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+asks(1, "make check", "- may-hold: yes\n")+asks(2, "make check", "")+asks(3, "make no", "- may-hold: yes\n")+asks(4, "make check", "- guards: enough\n")+"## Reports\n")
	p.Git("commit", "--quiet", "--all", "--message", "three")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	launch()
	report := ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED", "D-2": "EXIT_NEED_INFO", "D-3": "EXIT_BLOCKED", "D-4": "EXIT_NEED_INFO"})
	for _, want := range []string{"Unit D-1.1, which changed nothing.", "a claim that changes nothing, for all holds already", "Blocked: iteration 0 changed nothing", "Cost: 1 of 10 iterations"} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is not in\n%s", want, report)
		}
	}
	if strings.Contains(report, "It is in main") || strings.Contains(p.Run(p.Bare, "git", "log", "--format=%s", "refs/ward/record/D-1.1"), "transcript") {
		t.Errorf("an agent worked:\n%s", report)
	}
	if out, err := p.Try(p.Work, nil, "", "git-ward", "take", "D-1"); err != nil || !strings.Contains(out, "D-1 was taken already") {
		t.Errorf("%v: %s", err, out)
	}
	if out := p.Run(p.Work, "git-ward", "review", "D-2"); strings.Contains(out, "proved by nothing (commit ") {
		t.Errorf("the project's own commit is the agent's word:\n%s", out)
	}
	for _, d := range []string{"D-2", "D-4"} {
		if out, err := p.Try(p.Work, nil, "", "git-ward", "include", d); err != nil || !strings.Contains(out, d+" includes a claim that changes nothing: pushed") {
			t.Fatalf("%v: %s", err, out)
		}
	}
	launch()
	ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED", "D-2": "EXIT_CONVERGED", "D-4": "EXIT_CONVERGED"})
	p.Fsck()
}

// asking is a repository whose D-1 wants that `make check` passes, and a launch of it.
func asking(t *testing.T, check, script string) (p *gittest.Pair, launch func()) {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: make is not on this machine (scripts/setup --fence)")
	}
	p = gittest.New(t)
	p.Write("Makefile", "check:\n\t"+check+"\n")
	p.Write("script.jsonl", script)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+makes+"\n## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directive")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	return p, func() {
		t.Helper()
		if out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
			"--state", filepath.Join(filepath.Dir(p.Bare), "state")); err != nil {
			t.Fatal(err, out)
		}
	}
}

// TestAnswersByEdit: a PM who does not take it in says in the directive what is to be done
// without it: the loop goes on, in the same unit, and asks no more for that claim.
func TestAnswersByEdit(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	p, launch := asking(t, "test -s answer", `{"directive":"D-1","iteration":0,"text":"Done.","calls":[{"name":"bash","args":{"command":"printf 'check:\n\ttrue\n' > GNUmakefile"}}]}
{"directive":"D-1","iteration":1,"text":"Without it.","calls":[{"name":"bash","args":{"command":"rm GNUmakefile && echo 42 > answer"}}]}
{"directive":"D-1","text":"It passes."}
`)
	launch()
	report := ended(t, p, map[string]string{"D-1": "EXIT_NEED_INFO"})
	p.Git("reset", "--quiet", "--hard", "origin/main")
	p.Write("COMMS.md", strings.Replace(report, "(`make check`)\n", "(`make check`)\n- work: answer\n\nWrite answer; the Makefile is right.\n", 1))
	p.Git("commit", "--quiet", "--all", "--message", "no")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(err, out)
	}
	launch()
	if report = ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED"}); !strings.Contains(report, "Done: every criterion is met after 2 iterations ") {
		t.Error(report)
	}
	if out := p.Run(p.Bare, "git-ward", "uow", "show", "--all"); strings.Contains(out, "D-1.2") {
		t.Errorf("another unit:\n%s", out)
	}
	p.Fsck()
}
