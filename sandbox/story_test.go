package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// story is a PM's day, told by the verbs of a sequence, with what must be seen between
// them.
type story struct {
	*scene
	*testing.T
}

func newStory(t *testing.T) *story {
	t.Parallel()
	s := &story{newScene(t, false), t}
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	return s
}

// tell plays verbs, one a line.
func (s *story) tell(lines string) {
	s.T.Helper()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		fmt.Fprintf(&s.log, "\n>>> %s\n", line)
		if err := s.play(line); err != nil {
			s.T.Fatalf("%s: %v\n%s", line, err, tail(s.log.String(), 60))
		}
	}
}

// newestReport is the newest report with an exit on a directive.
func (s *story) newestReport(name string) comms.Report {
	s.T.Helper()
	doc, err := s.document()
	if err != nil {
		s.T.Fatal(err)
	}
	for _, r := range slices.Backward(doc.Reports) {
		if r.Directive == name && r.Status != comms.Info {
			_, r.Text, _ = strings.Cut(r.Text, "\n") // the line that names the text of the directive
			r.Text = comms.Unlaid(r.Text)
			return r
		}
	}
	s.T.Fatalf("no report on %s\n%s", name, tail(s.log.String(), 60))
	return comms.Report{}
}

// ends wants the newest report on a directive to have a status, and to say these.
func (s *story) ends(name string, status comms.Status, says ...string) {
	s.T.Helper()
	r := s.newestReport(name)
	if r.Status != status {
		s.T.Errorf("%s ends %s, want %s:\n%s\n%s", name, r.Status, status, r.Text, tail(s.log.String(), 40))
	}
	for _, text := range says {
		if !strings.Contains(r.Text, text) {
			s.T.Errorf("the report on %s does not say %q:\n%s", name, text, r.Text)
		}
	}
	// Who reads nothing else knows what was done, what decides, what it cost, and what to
	// type (story 10).
	decides := strings.Contains(r.Text, "\n- met: ") || strings.Contains(r.Text, "\n- not met") || strings.Contains(r.Text, "\n- not run")
	for what, told := range map[string]bool{"done": strings.Contains(r.Text, "Unit "+name+"."), "decides": decides, "cost": strings.Contains(r.Text, "\nCost: "), "next": strings.Contains(r.Text, "\nNext: git ward ")} {
		if !told && (what != "decides" || status != comms.ExitNeedInfo) {
			s.T.Errorf("the report on %s does not tell what is %q:\n%s", name, what, r.Text)
		}
	}
	if strings.Contains(strings.ReplaceAll(r.Text, "git merge origin/agent/"+name+"-lessons", ""), "git merge") {
		s.T.Errorf("the report on %s says git merge:\n%s", name, r.Text)
	}
}

// whole wants nothing to be stuck, and nothing to be broken.
func (s *story) whole() {
	s.T.Helper()
	if err := s.settle(); err != nil {
		s.T.Fatal(err)
	}
	if _, err := s.check(); err != nil {
		s.T.Error(err)
	}
}

// TestStory02: two directives start from one main, each adds something; both are taken,
// and main has two clean commits.
func TestStory02(t *testing.T) {
	tier.Full(t, "launches of seconds")
	s := newStory(t)
	s.tell("edit D-1 good\nedit D-2 good\nrun")
	s.ends("D-1", comms.ExitConverged, "The agent says:", "Done: every criterion is met", "work/D-1", "Next: git ward review D-1 (", "git ward take D-1")
	s.ends("D-2", comms.ExitConverged, "work/D-2")
	for _, args := range [][]string{{"take", "--squash", "D-1"}, {"take", "--squash", "--unjudged", "D-2"}} {
		if out, err := s.ward(args...); err != nil {
			t.Fatalf("git ward %v: %v\n%s", args, err, out)
		}
	}
	out, err := s.Try(s.Bare, nil, "", "git", "log", "-2", "--name-only", "--format=%s", "main")
	if want := "D-2: good 2\n\nwork/D-2\nD-1: good 1\n\nwork/D-1\n"; err != nil || out != want {
		t.Errorf("main has %q, want %q: %v", out, want, err)
	}
	s.whole()
}

// TestStory03: whatever the last unit came to, the next one of the directive works, and
// another directive that came meanwhile is worked on after it.
func TestStory03(t *testing.T) {
	tier.Full(t, "launches of seconds")
	s := newStory(t)
	s.tell("edit D-1 budget\nrun")
	s.ends("D-1", comms.ExitBudgetExceeded, "the budget is spent after", "- not met (exit 1): never", "Next: git ward directive edit D-1 (raises max_iterations")
	s.tell("edit D-1 slow\nrun at 3: edit D-3 good")
	s.ends("D-1", comms.ExitConverged)
	s.ends("D-3", comms.ExitConverged)
	s.tell("edit D-1 away\nrun")
	s.ends("D-1", comms.ExitDiverged, "the residual grew over three iterations", "Next: git ward directive edit D-1 (asks for another approach")
	s.tell("edit D-1 good\nrun\ntake D-1\nedit D-1 good\nrun")
	s.ends("D-1", comms.ExitConverged)
	s.tell("fork D-1\nrun\nedit D-1 slow\nrun at 4: edit D-1 good")
	s.ends("D-1", comms.ExitConverged)
	s.whole()
}

// TestStory06: what the PM does under the agent's feet. The unit ends or goes on by a rule
// that the report, or its journal, names.
func TestStory06(t *testing.T) {
	tier.Full(t, "launches of seconds")
	for name, c := range map[string]struct {
		verbs string
		want  func(s *story)
	}{
		"the directive is deleted": {"edit D-1 slow\nedit D-2 good\nrun at 4: remove D-1\nrun", func(s *story) {
			units, err := s.units()
			if err != nil {
				s.T.Fatal(err)
			}
			if r := units["D-1"]; r == nil || r.State == uow.Active || r.ReasonCode == "" {
				s.T.Errorf("the unit of a directive that is gone is %+v", r)
			}
			s.ends("D-2", comms.ExitConverged)
		}},
		"main is forced":          {"main\nedit D-1 slow\nrun at 4: rewrite\nrun", func(s *story) { s.ends("D-1", comms.ExitConverged) }},
		"its file is renamed":     {"edit D-1 good\nrun\ntake D-1\nedit D-1 slow\nrun at 4: rename D-1\nrun", func(s *story) { s.ends("D-1", comms.ExitConverged) }},
		"half of it is merged":    {"edit D-1 slow\nrun at 6: half D-1\nrun", func(s *story) { s.ends("D-1", comms.ExitConverged) }},
		"its branch is taken off": {"edit D-1 slow\nrun at 4: unbranch D-1\nrun", func(s *story) { s.ends("D-1", comms.ExitConverged) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.tell(c.verbs)
			c.want(s)
			s.whole()
		})
	}
}

// TestStory08: a directive without a command is a question at once, in words of a PM's,
// before anything is spent; the answer goes on from there.
func TestStory08(t *testing.T) {
	tier.Full(t, "launches of seconds")
	s := newStory(t)
	s.tell("edit D-1 asks\nedit D-2 good\nrun")
	s.ends("D-1", comms.ExitNeedInfo, "does not say how I can tell that it is done", "Unit D-1.1, which changed nothing", "Next: git ward directive edit D-1 (says what is missing)")
	s.ends("D-2", comms.ExitConverged)
	doc, err := s.document()
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Questions) != 1 || !strings.HasPrefix(doc.Questions[0].Text, "How can I tell that D-1 is done?") || !strings.Contains(doc.Questions[0].Text, "write one, with a command that decides it") {
		t.Errorf("questions: %+v", doc.Questions)
	}
	units, err := s.units()
	if err != nil {
		t.Fatal(err)
	}
	if r := units["D-1"]; r.State != uow.PendingApproval || r.Budget.Spent.Iterations != 0 || r.Next() != "git ward directive edit D-1" {
		t.Errorf("it is %s, spent %d, and waits for %q", r.State, r.Budget.Spent.Iterations, r.Next())
	}
	s.tell("edit D-1 good\nrun")
	s.ends("D-1", comms.ExitConverged)
	if units, err = s.units(); err != nil || units["D-1"].ID != "D-1.1" {
		t.Errorf("the answer began anew: %v, %v", units["D-1"].ID, err)
	}
	s.whole()
}

// TestStory07: the criterion's tool is not there. The report says so, and not that the
// budget is spent, and what the PM does about it goes on from there.
func TestStory07(t *testing.T) {
	tier.Full(t, "launches of seconds")
	s := newStory(t)
	const text = "### D-1: good 1\n\nDo it.\n\n- [ ] it is checked (`no-such-tool work/D-1`)\n- work: work/D-1\n- max_iterations: 3\n\n"
	if err := s.comms(func(doc string) string { return strings.Replace(doc, "## Reports\n", text+"## Reports\n", 1) }); err != nil {
		t.Fatal(err)
	}
	s.tell("run")
	s.ends("D-1", comms.ExitBlocked, "what decides could not be run, for a program is missing there", "no-such-tool: not found", "Next: git ward uow retry D-1.1 (")
	units, err := s.units()
	if err != nil {
		t.Fatal(err)
	}
	if r := units["D-1"]; r.ReasonCode != uow.NoTool || r.Next() != "git ward uow retry D-1.1" {
		t.Errorf("it waits for %q (%s)", r.Next(), r.ReasonCode)
	}
	s.tell("edit D-1 good\nrun")
	s.ends("D-1", comms.ExitConverged)
	s.whole()
}

// TestStory11: a PM who has git and no Ward does all of it: a directive with a slip comes
// back with what is wrong with it, the mended one is done and reported, and what git merges
// is taken.
func TestStory11(t *testing.T) {
	tier.Full(t, "launches of seconds")
	s := newStory(t)
	dir := filepath.Join(filepath.Dir(s.Bare), "plain")
	git := func(args ...string) string { t.Helper(); return gittest.Git(t, dir, args...) }
	gittest.Git(t, filepath.Dir(s.Bare), "clone", "--quiet", s.Bare, dir)
	write := func(title string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, comms.Path))
		if err == nil {
			text := strings.Replace(directiveText("D-1", "good", 1), "### D-1:", title, 1)
			err = os.WriteFile(filepath.Join(dir, comms.Path), []byte(strings.Replace(string(data), "## Reports\n", text+"## Reports\n", 1)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		git("commit", "--quiet", "--all", "--message", "a directive")
	}
	write("### Directive one:")
	push := exec.Command("git", "push", "--quiet", "origin", "main")
	push.Dir, push.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	if out, err := push.CombinedOutput(); err == nil || !strings.Contains(string(out), "COMMS.md:") {
		t.Errorf("the slip is not named with its place: %v\n%s", err, out)
	}
	git("reset", "--quiet", "--hard", "origin/main")
	write("### D-1:")
	git("push", "--quiet", "origin", "main")
	s.tell("run")
	s.ends("D-1", comms.ExitConverged)
	git("pull", "--quiet", "--rebase")
	git("fetch", "--quiet", "origin", "+refs/notes/*:refs/notes/*")
	if doc := git("show", "HEAD:COMMS.md"); !strings.Contains(doc, " D-1 EXIT_CONVERGED\n") {
		t.Error(doc)
	}
	if verdict := git("notes", "--ref=certificates", "show", "origin/agent/D-1"); !strings.Contains(verdict, `"verdict":"EXACT"`) {
		t.Error(verdict)
	}
	git("merge", "--quiet", "origin/agent/D-1")
	git("push", "--quiet", "origin", "main")
	s.whole()
}

// TestStory07Tool: the PM brings the tool and types the one command that the unit waits
// for. The claim that stands is judged again: nobody works on it once more, though the
// one iteration that the directive allows is spent.
func TestStory07Tool(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	d.letFree()
	tools := filepath.Join(filepath.Dir(d.Bare), "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	d.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: make it\nMake made.txt.\n- [ ] it is measured (`measure made.txt`)\n- work: made.txt\n- max_iterations: 1\n\n## Reports\n")
	d.push("a directive")
	path := slices.IndexFunc(d.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	d.Env[path] += ":" + tools
	d.launch()
	d.await("the block", func() bool { return d.last().State == uow.ZombiedSoft })
	if r := d.last(); r.ReasonCode != uow.NoTool {
		t.Fatalf("it is blocked for %s", r.ReasonCode)
	}
	d.await("the report", func() bool { return strings.Contains(d.comms(), " D-1 EXIT_BLOCKED\n") })
	report := d.comms()
	for _, text := range []string{"measure: not found in the launcher's PATH", "install it where the launcher runs", "Next: git ward uow retry D-1.1 (", "made.txt", "Stopped: what decides could not be run"} {
		if !strings.Contains(report, text) {
			t.Errorf("the report does not say %q:\n%s", text, report)
		}
	}
	d.uow("retry", "D-1.1") // too early: it is still missing
	d.await("the second look", func() bool { return d.last().State == uow.ZombiedSoft && d.last().Retries == 1 })
	gittest.Program(t, filepath.Join(tools, "measure"), "#!/bin/sh\ntest -s \"$1\"\n")
	m := wardCommand.FindStringSubmatch(d.uow("list", "--all"))
	if m == nil {
		t.Fatal(d.uow("list", "--all"))
	}
	d.Run(d.Work, "git-ward", strings.Fields(m[1])...)
	d.exact("D-1")
	if spent := d.last().Budget.Spent; spent.Iterations != 1 || spent.Claims != 1 {
		t.Errorf("it took %+v", spent)
	}
	if out, err := d.Try(d.Bare, nil, "", "git-ward", "fsck"); err != nil || !strings.Contains(out, " 0 findings") {
		t.Error(err, out)
	}
}
