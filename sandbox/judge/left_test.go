package judge

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

const makes = `### D-1: the answer

- [ ] the check passes (` + "`make check`" + `)
- work: answer
`

// TestJudgeLeft: what a claim has that is no work is named first, does not decide, and is
// asked for where it would; by the PM's word on path and blob it is work.
func TestJudgeLeft(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	c := newCourt(t, makes)
	c.write("Makefile", "check:\n\tsh check.sh\n")
	c.pushMain()
	main := c.head()
	form := jsonschema.NewCompiler().MustCompile("../../protocols/loop/schema/verdict.json")
	for _, step := range []struct {
		name, content, answer, verdict, left string
		asks                                 bool
	}{
		{"plain.txt", "x\n", "42\n", loop.Exact, "plain.txt (added)", false},
		{"GNUmakefile", "check:\n\ttrue\n", "41\n", loop.None, "GNUmakefile (added)", true},
		{"GNUmakefile", "check:\n\tsh check.sh\n", "42\n", loop.Exact, "GNUmakefile (added)", false},
		{"GNUmakefile", "check:\n\tfalse\n", "42\n", loop.None, "GNUmakefile (added)", false},
		{"GNUmakefile", "check:\n\tfalse\n", "41\n", loop.None, "GNUmakefile (added)", false},
		{"b\xff\u202e_test.go", "x\n", "42\n", loop.Exact, `"b\xff\u202e_test.go" (added)`, false},
	} {
		c.git("reset", "--quiet", "--hard", main)
		c.write(step.name, step.content)
		c.write("answer", step.answer)
		c.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
		c.git("add", "--all")
		c.git("commit", "--quiet", "--message", "claimed")
		commit := c.head()
		c.git("push", "--quiet", "origin", "+HEAD:refs/heads/agent/D-1")
		c.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit})
		v := c.verdicts(commit)[0]
		if v.Verdict != step.verdict || strings.Join(v.LeftWords(), ", ") != step.left || v.NotIncluded != step.asks || v.Main != main || v.Base != main || !v.Sound() {
			t.Errorf("%s, answer %s: %+v", step.name, step.answer, v)
		}
		included, err := v.Left[0].Include()
		if err != nil || included.Path != step.name {
			t.Fatalf("%+v, %v", included, err)
		}
		d := c.directive
		d.Options.Included = []comms.Included{included}
		facts, err := c.Verify(t.Context(), ClaimOf(&d, c.Settings, commit, main))
		if err != nil || strings.Join(facts.Included, " ") != step.name || facts.With != nil {
			t.Errorf("included: %+v, %v", facts, err)
		}
		line, err := v.Line()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := form.Validate(doc); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
	}
}

const two = `### D-1: two

- [ ] the tests pass (` + "`python3 -m unittest discover -s tests -t .`" + `)
`

// TestJudgeCannotFail: work that ends its tests' process before they can fail meets no
// criterion (PROOF-3).
func TestJudgeCannotFail(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	c := newCourt(t, two)
	c.write("pyproject.toml", "[project]\nname = \"calc\"\n")
	c.write("calc/__init__.py", "def two():\n    return 1\n")
	c.write("tests/__init__.py", "")
	c.write("tests/test_calc.py", "import unittest\nfrom calc import two\n\n\nclass T(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(two(), 2)\n")
	c.pushMain()
	form := jsonschema.NewCompiler().MustCompile("../../protocols/loop/schema/verdict.json")
	for _, step := range []struct{ work, verdict, control, reason string }{
		{"import os\n\nprint('OK')\nos._exit(0)\n", loop.None, loop.ControlCannotFail, "not met: the tests pass (`python3 -m unittest discover -s tests -t .`) (it cannot fail: it holds with tests broken that it should run)"},
		{"def two():\n    return 2\n", loop.Exact, loop.ControlFails, "every criterion is met"},
	} {
		c.write("calc/__init__.py", step.work)
		v := c.verdicts(c.claim())[0]
		if v.Verdict != step.verdict || v.Criteria[0].Control != step.control || v.Reason != step.reason || !v.Sound() {
			t.Errorf("%q: %+v", step.work, v)
		}
		line, err := v.Line()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = form.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s\n%v", line, err)
		}
	}
}

// TestJudgeUnfit: a claim that cannot be checked out has its verdict, once.
func TestJudgeUnfit(t *testing.T) {
	t.Parallel()
	c := newCourt(t, makes)
	c.Settings.Verify.CheckoutEntries = 20
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		c.write(name, "x\n")
	}
	list := c.verdicts(c.claim())
	if len(list) != 1 || list[0].Verdict != loop.None || !strings.Contains(list[0].Reason, "more than 20 entries ([verify] checkout_entries)") {
		t.Errorf("%+v", list)
	}
}

// TestJudgeBase: what decides is as it was where the work left main, as long as the
// directive said then what it says now: by beginning from an old commit nobody
// chooses tests that the PM has replaced.
func TestJudgeBase(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	c := newCourt(t, makes)
	began := c.head()
	c.write("Makefile", "check:\n\ttrue\n")
	c.pushMain() // the PM's first, hollow check
	hollow := c.head()
	c.write("Makefile", "check:\n\tsh check.sh\n")
	c.pushMain()
	c.git("reset", "--quiet", "--hard", hollow)
	c.write("note", "x\n")
	v := c.verdicts(c.claim())[0]
	if !v.OnlyGuards || v.Base != hollow || v.Main == hollow { // and hollow as it is, it proves nothing
		t.Errorf("%+v", v)
	}
	// The directive is edited: work from before is held against main as it stands.
	c.git("fetch", "--quiet")
	c.git("reset", "--quiet", "--hard", "origin/main")
	edited := strings.Replace(makes, "the check passes", "the new check passes", 1)
	c.write("COMMS.md", "# COMMS\n\n## Directives\n\n"+edited+"\n## Reports\n")
	c.pushMain()
	main := c.head()
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n" + edited + "\n## Reports\n"))
	c.directive = doc.Directives[0]
	c.step(uow.Input{Event: uow.Fail, Reason: "DIRECTIVE_CHANGED"})
	if then, err := Base(t.Context(), c.Repo, ClaimOf(&c.directive, c.Settings, hollow, main), Heads{main, main}, &c.directive); err != nil || then != main {
		t.Errorf("%s, %v; want %s", then, err, main)
	}
	if then, err := Base(t.Context(), c.Repo, ClaimOf(&c.directive, c.Settings, began, main), Heads{main, main}, &c.directive); err != nil || then != main {
		t.Errorf("%s, %v; want %s", then, err, main)
	}
}

// TestJudgeMissingTool: a criterion whose tool is not there says so.
func TestJudgeMissingTool(t *testing.T) {
	t.Parallel()
	c := newCourt(t, strings.Replace(makes, "make check", "cd . && no-such-tool check", 1))
	v := c.verdicts(c.claim())[0]
	if v.Verdict != loop.None || !strings.HasPrefix(v.Reason, "no-such-tool: not found in ") || v.MissingTool == nil {
		t.Errorf("%+v", v)
	}
}

// TestJudgeMissingWithout: what the claim brings is not missing where the PM's word takes it in.
func TestJudgeMissingWithout(t *testing.T) {
	t.Parallel()
	c := newCourt(t, strings.Replace(makes, "make check", `. ./lib.sh && test "$(twice a)" = aa`, 1))
	c.write("lib.sh", "once() { echo \"$1\"; }\n")
	c.pushMain()
	c.write("lib.sh", "twice() { echo \"$1$1\"; }\n")
	if v := c.verdicts(c.claim())[0]; !v.NotIncluded || v.MissingTool != nil {
		t.Errorf("%s: %+v", v.Reason, v)
	}
}

// TestJudgeMissingInRecipe: so does one that main's makefile wants, of which make itself
// says only that it failed; and nothing is missing where the work is at fault.
func TestJudgeMissingInRecipe(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: make is not on this machine (scripts/setup --fence)")
	}
	for recipe, want := range map[string]string{
		"@cd . && no-such-tool --all": "no-such-tool",
		"@no-such-tool --all":         "no-such-tool", // make starts it without a shell
		"@env no-such-tool":           "no-such-tool",
		"@cat no-such-file":           "", // it is no program
		"@sh -c 'exit 127'":           "",
	} {
		c := newCourt(t, makes)
		c.write("Makefile", "TOOL = none\ncheck: first\n\t"+recipe+"\nfirst:\n\techo first\n")
		c.pushMain()
		v := c.verdicts(c.claim())[0]
		if v.Verdict == loop.Exact || want == "" && v.MissingTool != nil || want != "" && (v.MissingTool == nil || v.MissingTool.Tool != want) {
			t.Errorf("%s: %+v", recipe, v)
		}
	}
}

const guarded = `### D-1: three

- [ ] the tests pass (` + "`python3 -m unittest discover -s tests -t .`" + `)
`

// TestJudgeGuards: where every criterion held before the work, EXACT needs a test of the
// claim's that is work and fails without the rest of it, or the PM's word (PROOF-3).
func TestJudgeGuards(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	c := newCourt(t, guarded)
	test := func(name, what string) string {
		return "import unittest\nfrom calc import " + name + "\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(" + what + ")\n"
	}
	c.write("pyproject.toml", "[project]\nname = \"calc\"\n")
	c.write("calc/__init__.py", "def two():\n    return 2\n")
	c.write("tests/__init__.py", "")
	c.write("tests/test_calc.py", test("two", "two(), 2"))
	c.pushMain()
	main := c.head()
	for _, step := range []struct {
		name, test, guards string
		include            bool
		controls           []string
		verdict            string
	}{
		{"no new test", "", "", false, []string{verifier.Broken}, loop.None},
		{"a new test, and no word on it", test("three", "three(), 3"), "", false, []string{verifier.Broken}, loop.None},
		{"a new test, included", test("three", "three(), 3"), "", true, []string{verifier.Broken}, loop.Exact},
		{"an included test that holds without the work", test("two", "two(), 2"), "", true, []string{verifier.Broken}, loop.None},
		{"guards are enough", "", "enough", false, []string{verifier.Broken}, loop.Exact},
		{"nobody asked for controls", "", "", false, nil, loop.Exact},
	} {
		c.git("reset", "--quiet", "--hard", main)
		c.write("calc/__init__.py", "def two():\n    return 2\n\n\ndef three():\n    return 3\n")
		if step.test != "" {
			c.write("tests/test_three.py", step.test)
		}
		c.git("add", "--all")
		c.git("commit", "--quiet", "--message", "claimed")
		commit, d := c.head(), c.directive
		c.git("push", "--quiet", "origin", "+HEAD:refs/heads/agent/D-1")
		d.Options.Guards = step.guards
		if step.include {
			blob := c.run(c.work, "", "git", "rev-parse", "HEAD:tests/test_three.py")
			d.Options.Included = []comms.Included{{Path: "tests/test_three.py", Mode: "100644", Blob: blob}}
		}
		claim := ClaimOf(&d, c.Settings, commit, main)
		claim.Controls = step.controls
		facts, err := c.Verify(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		p, _, _ := loop.Declare("D-1.1", d, loop.Base(c.Settings.Loop))
		v := verdictOf(p, &d, facts, strings.Clone)
		if asks := step.verdict == loop.None; v.Verdict != step.verdict || v.OnlyGuards != asks || v.WantsWord() != asks || !v.Sound() || asks && (v.Rung != 0 || v.Reason != "every criterion held before the work, so none proves it") {
			t.Errorf("%s: %+v", step.name, v)
		}
	}
}
