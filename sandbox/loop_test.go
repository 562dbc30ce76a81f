package sandbox

import (
	"embed"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// What a course of seven directives is made of: the directives, what the script model
// plays for them, and main's tests.
var (
	//go:embed testdata/seven/directives.md
	seven string
	//go:embed testdata/seven/script.jsonl
	lines string
	//go:embed testdata/seven/tests
	sevenTests embed.FS
)

// course is a repository with the seven directives.
func course(t *testing.T, p *gittest.Pair, directives string) {
	t.Helper()
	for _, name := range []string{"run.sh", "failing.sh", "strict.sh", "other.sh"} {
		text, err := sevenTests.ReadFile("testdata/seven/tests/" + name)
		if err != nil {
			t.Fatal(err)
		}
		p.Write("tests/"+name, string(text))
	}
	p.Write("script.jsonl", lines)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+directives+"\n## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directives")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
}

// ended checks the reports that main has of directives.
func ended(t *testing.T, p *gittest.Pair, want map[string]string) string {
	t.Helper()
	p.Git("fetch", "--quiet")
	report := p.Git("show", "origin/main:COMMS.md")
	for directive, status := range want {
		if !strings.Contains(report, " "+directive+" "+status+"\n") {
			t.Errorf("%s does not end %s", directive, status)
		}
	}
	if t.Failed() {
		t.Log(report)
	}
	return report
}

// TestSevenEnds takes seven directives to seven ends, unfenced: claims, verdicts,
// learnings, budgets and reports are what they are in the fence.
func TestSevenEnds(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	p := gittest.New(t)
	course(t, p, seven)
	out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
		"--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	if err != nil {
		t.Fatal(err, out)
	}
	report := ended(t, p, map[string]string{
		"D-1": "EXIT_CONVERGED", "D-2": "EXIT_DIVERGED", "D-3": "EXIT_NEED_INFO", "D-4": "EXIT_BUDGET_EXCEEDED",
		"D-5": "EXIT_BUDGET_EXCEEDED", "D-6": "EXIT_NEED_INFO", "D-7": "EXIT_CONVERGED",
	})
	if t.Failed() {
		t.Log(out)
	}
	for _, want := range []string{"Residuals: 3, 1, 0", "Residuals: 1, 2, 3", "## Questions", "How can I tell that D-3 is done?"} {
		if !strings.Contains(report, want) {
			t.Errorf("%q is missing in\n%s", want, report)
		}
	}
	// What was left out stands in the verdict, and the PM is asked for it.
	note := p.Run(p.Bare, "git", "notes", "--ref=certificates", "show", verdictCommit(t, p, "D-6"))
	if !strings.Contains(note, `"kind":"changed","mode":"100644","path":"tests/strict.sh"`) || !strings.Contains(note, `"kind":"deleted","mode":"000000","path":"tests/other.sh"`) {
		t.Errorf("verdict on D-6: %s", note)
	}
	learnings := p.Run(p.Bare, "git", "show", "refs/ward/record/D-1.1:LEARNINGS.md")
	for _, want := range []string{"## Iteration 0 of D-1.1", "## Iteration 2 of D-1.1", "[A] met: all of them are right", "[C] c was not looked at", "what does c hold?"} {
		if !strings.Contains(learnings, want) {
			t.Errorf("%q is missing in\n%s", want, learnings)
		}
	}
	// What the agent said lay on its records, and the host put it where the PM reads (MANY-2).
	if mark := p.Run(p.Bare, "git", "cat-file", "blob", "refs/ward/folded/D-3.1"); !strings.Contains(mark, `"folded":2`) {
		t.Errorf("a question and a report: %s", mark)
	}
	if log := p.Run(p.Bare, "git-ward", "log", p.Bare); !strings.Contains(log, "agent ward-fold") {
		t.Errorf("nobody folded:\n%s", log)
	}
	if out := p.Run(p.Bare, "git-ward", "uow", "show", "--all"); strings.Count(out, "archived") != 5 || strings.Count(out, "asks for your word") != 2 {
		t.Errorf("units:\n%s", out)
	}
	p.Fsck()
}

// TestLoopKills kills the launcher, and with it the agent, at random moments of a
// loop of three iterations. The next run goes on: no iteration is begun, and no
// learning written, a second time.
func TestLoopKills(t *testing.T) {
	tier.Full(t, "kills at random moments")
	t.Parallel()
	p := gittest.New(t)
	first, _, _ := strings.Cut(seven, "### D-2")
	course(t, p, first)
	random := rand.New(rand.NewSource(int64(tier.Seed(t))))
	launch := func() *exec.Cmd {
		cmd := exec.Command("env", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
			"--state", filepath.Join(filepath.Dir(p.Bare), "state"))
		cmd.Dir, cmd.Env = p.Work, p.Env
		return cmd
	}
	for range 8 {
		cmd := launch()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(300+random.Intn(2500)) * time.Millisecond) // any moment: that is the test
		cmd.Process.Kill()
		await.Exit(t, cmd)
	}
	out, err := await.Output(t, launch())
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	report := ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED"})
	if !strings.Contains(report, "Residuals: 3, 1, 0") || strings.Count(report, " D-1 EXIT") != 1 {
		t.Errorf("%s\n%s", report, out)
	}
	if n := strings.Count(p.Run(p.Bare, "git", "log", "--format=%s", "refs/ward/uow/D-1.1"), " iterate "); n != 3 {
		t.Errorf("%d iterations were begun", n)
	}
	learnings := p.Run(p.Bare, "git", "show", "refs/ward/record/D-1.1:LEARNINGS.md")
	for i := range 3 {
		if n := strings.Count(learnings, fmt.Sprintf("## Iteration %d of D-1.1\n", i)); n != 1 {
			t.Errorf("iteration %d is in the learnings %d times:\n%s", i, n, learnings)
		}
	}
	p.Fsck()
}

// TestRefusedWork: work that the host does not take, however often, and a plan that
// is never sound are ends with a report. They stay out of what is pushed, and so
// does a review that is refused.
func TestRefusedWork(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	p := gittest.New(t)
	const leak = `printf ghp_%s 0123456789abcdefghijABCDEFGHIJ012345 >token.txt`
	p.Write("script.jsonl", `{"directive":"D-1","text":"A token.","calls":[{"name":"bash","args":{"command":"`+leak+`"}}]}
{"directive":"D-1","on":"refused","calls":[{"name":"bash","args":{"command":"`+leak+`"}}]}
{"directive":"D-2","on":"plan","calls":[{"name":"write_file","args":{"path":"plans/D-2.iter_0.plan.txt","content":"do it\n"}}]}
{"directive":"D-3","text":"w","calls":[{"name":"bash","args":{"command":"echo 1 >w"}}]}
{"directive":"D-3","text":"The token is ghp_0123456789abcdefghij\u0041BCDEFGHIJ012345."}
{"directive":"D-3","role":"Skeptic","text":"{\"tried\":[\"ghp_0123456789abcdefghij\\u0041BCDEFGHIJ012345\"],\"succeeded\":[],\"failed\":[],\"open\":[],\"diagnosis\":\"\"}"}
`)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: a token\n\n- [ ] true (`true`)\n\n### D-2: no plan\n\n- [ ] true (`true`)\n\n### D-3: a review with a token\n\n- [ ] it is there (`test -e w`)\n- work: w\n\n## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directives")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
		"--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	if err != nil {
		t.Fatal(err, out)
	}
	report := ended(t, p, map[string]string{"D-1": "EXIT_BLOCKED", "D-2": "EXIT_BLOCKED", "D-3": "EXIT_CONVERGED"})
	if !strings.Contains(report, "secret/github-pat") || !strings.Contains(report, "There was no plan to execute after 4 tries") {
		t.Error(report)
	}
	if files := p.Run(p.Bare, "git", "rev-list", "--all", "--objects"); strings.Contains(files, "token.txt") {
		t.Error(files)
	}
	// What a model said with a token in it is on the record without the token.
	for _, file := range []string{"LEARNINGS.md", "evidence/D-3/loop/iter_0/words.txt"} {
		if text := p.Run(p.Bare, "git", "show", "refs/ward/record/D-3.1:"+file); !strings.Contains(text, "[github-pat]") {
			t.Errorf("%s: %s", file, text)
		}
	}
	p.Fsck()
}

// TestFullComms: a COMMS.md that has no room for the report makes some, by the rules
// that the hook holds the agent to (COMMS-4).
func TestFullComms(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	p := gittest.New(t)
	p.Write("script.jsonl", `{"directive":"D-1","text":"w","calls":[{"name":"bash","args":{"command":"echo 1 >w"}}]}`+"\n")
	var b strings.Builder
	b.WriteString("# COMMS\n\n## Directives\n\n### D-1: a file\n\n- [ ] it is there (`test -e w`)\n- work: w\n\n## Reports\n\n")
	for id := 1; b.Len() < comms.MaxBytes-700; id++ {
		fmt.Fprintf(&b, "### R-%d 2026-11-21T09:00:00Z - INFO\n%s\n\n", id, strings.Repeat("words ", 100))
	}
	b.WriteString("## Questions\n\n### Q-1 2026-11-21T09:00:00Z -\nWhat else?\n")
	p.Write("COMMS.md", b.String())
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "years of reports")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	p.Run(p.Work, "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	report := ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED"})
	if size := len(report); size > comms.MaxBytes || strings.Contains(report, "### R-1 ") || !strings.Contains(report, "What else?") {
		t.Errorf("%d bytes: %.300s", size, report)
	}
	if message := p.Git("log", "-1", "--format=%B", "origin/main"); !strings.Contains(message, "\nComms-Prune: R-1..R-") {
		t.Error(message)
	}
	p.Fsck()
}

// TestStop: the file scratch/STOP on main is backpressure (LOOP-9); when it is gone,
// the PM's word takes the unit up again, and the report that closes follows.
func TestStop(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	p := gittest.New(t)
	_, last, _ := strings.Cut(seven, "### D-7")
	course(t, p, "### D-7"+last)
	p.Write("scratch/STOP", "")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "stop")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	launch := func() string {
		return p.Run(p.Work, "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	}
	launch()
	report := ended(t, p, map[string]string{"D-7": "EXIT_BLOCKED"})
	if !strings.Contains(report, "scratch/STOP is there") {
		t.Error(report)
	}
	launch() // nothing to do: it waits
	p.Git("pull", "--quiet", "--rebase")
	p.Git("rm", "--quiet", "scratch/STOP")
	p.Git("commit", "--quiet", "--message", "go on")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	p.Run(p.Bare, "git-ward", "uow", "retry", "D-7.1", "--reason", "RETRY_NOW")
	launch()
	if report = ended(t, p, map[string]string{"D-7": "EXIT_CONVERGED"}); strings.Count(report, " D-7 EXIT") != 2 {
		t.Error(report)
	}
	p.Fsck()
}

// hurry gives each launch of a repository a time and a grace.
func hurry(t *testing.T, p *gittest.Pair, time, grace string) {
	t.Helper()
	configtest.Set(t, p.Bare, "[budget] time = \""+time+"\"", "grace = \""+grace+"\"")
}

// longer gives an attempt more and more time for what a limit must not cut, until it says
// that the limit met what it was meant for: how fast the machine is, is no verdict.
func longer(t *testing.T, attempt func(p *gittest.Pair, limit time.Duration, reached string) bool) {
	t.Helper()
	for limit := 15 * time.Second; limit < 5*time.Minute; limit *= 4 {
		if attempt(gittest.New(t), limit, filepath.Join(t.TempDir(), "reached")) {
			return
		}
		t.Logf("%s were too short for what comes before", limit)
	}
	t.Fatal("the limit always came before what it was to end")
}

// exists reports whether a file is there.
func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// TestTimeRunsOut: when [budget] time is spent in the middle of an iteration, its
// worker is stopped, what it has is kept, and the directive ends by a report within
// the grace. One that was not begun waits for the next launch.
func TestTimeRunsOut(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	longer(t, func(p *gittest.Pair, limit time.Duration, reached string) bool {
		course(t, p, "### D-6: all of them\n\n- [ ] all of them are right (`test -e never`)\n\n"+seven[strings.Index(seven, "### D-7"):])
		p.Write("script.jsonl", `{"directive":"D-6","iteration":0,"text":"Half of it.","calls":[{"name":"bash","args":{"command":"echo 1 > half"}}]}
{"directive":"D-6","iteration":0,"text":"The rest.","calls":[{"name":"bash","args":{"command":"echo 2 > rest; touch `+reached+`; sleep infinity"}}]}
`+lines[strings.Index(lines, `{"directive":"D-7"`):])
		p.Git("commit", "--quiet", "--all", "--message", "script")
		if out, err := p.Push("main"); err != nil {
			t.Fatal(err, out)
		}
		launch := func() (string, error) {
			return p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
				"--state", filepath.Join(filepath.Dir(p.Bare), "state"))
		}
		hurry(t, p, limit.String(), "24h")
		start := time.Now()
		out, err := launch()
		if !exists(reached) {
			return false
		}
		if err == nil || time.Since(start) < limit || !strings.Contains(out, "is spent; still open: D-7") {
			t.Errorf("%v\n%s", err, out)
		}
		report := ended(t, p, map[string]string{"D-6": "EXIT_BUDGET_EXCEEDED"})
		if strings.Contains(report, "D-7 EXIT") || !strings.Contains(report, "the time of this launch, [budget] time, is spent") {
			t.Errorf("%s\n%s", report, out)
		}
		if half := p.Git("show", "origin/agent/D-6:half"); half != "1\n" {
			t.Errorf("half: %q", half)
		}
		halting := p.Run(p.Bare, "git", "show", "refs/ward/record/D-6.1:evidence/D-6/loop/halting_report.json")
		if !strings.Contains(halting, `"status":"EXIT_BUDGET_EXCEEDED","stop_reason":"MAX_TOOL_CALLS"`) || !strings.Contains(halting, `"iterations_completed":1`) {
			t.Error(halting)
		}
		if units := p.Run(p.Bare, "git-ward", "uow", "show", "--all"); !strings.Contains(units, "archived") || strings.Contains(units, "D-7") {
			t.Errorf("units:\n%s", units)
		}
		hurry(t, p, "24h", "10m")
		if out, err := launch(); err != nil {
			t.Fatal(err, out)
		}
		ended(t, p, map[string]string{"D-7": "EXIT_CONVERGED"})
		p.Fsck()
		return true
	})
}

// TestTimeRunsOutOnAClaim: a verdict that does not come is waited for until the
// grace is half over; the rest of it is for the end.
func TestTimeRunsOutOnAClaim(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	longer(t, func(p *gittest.Pair, limit time.Duration, reached string) bool {
		course(t, p, "### D-5: done, it says\n\n- [ ] it takes for ever (`touch "+reached+"; sleep infinity`)\n")
		hurry(t, p, limit.String(), (2 * limit).String())
		start := time.Now()
		out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
			"--state", filepath.Join(filepath.Dir(p.Bare), "state"))
		if !exists(reached) || err != nil && strings.Contains(out, ", are spent") { // and grace, before the end was done
			return false
		}
		if took := time.Since(start); err != nil || took < 2*limit {
			t.Errorf("%v after %s\n%s", err, took, out)
		}
		report := ended(t, p, map[string]string{"D-5": "EXIT_BUDGET_EXCEEDED"})
		if !strings.Contains(report, "the time of this launch, [budget] time, is spent); no verdict came before the grace was half over") {
			t.Error(report)
		}
		if done := p.Git("show", "origin/agent/D-5:done.txt"); done != "I am done\n" {
			t.Errorf("done.txt: %q", done)
		}
		p.Fsck()
		return true
	})
}

// TestAgentMerge: where the PM lets it, certified work is on main when its unit is
// done, by the host's leave and nobody else's.
func TestAgentMerge(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	p := gittest.New(t)
	configtest.Set(t, p.Bare, "agent_merge = true", "unfenced_merge = true")
	_, last, _ := strings.Cut(seven, "### D-5")
	// A program that tests itself is the PM's to merge: nothing showed that its test can fail.
	course(t, p, "### D-5"+strings.ReplaceAll(last, "the program tests itself (`./program --test`)", "it is a program (`test -x program`)"))
	out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
		"--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	if err != nil {
		t.Fatal(err, out)
	}
	ended(t, p, map[string]string{"D-5": "EXIT_BUDGET_EXCEEDED", "D-7": "EXIT_CONVERGED"})
	files := strings.Fields(p.Git("ls-tree", "-r", "--name-only", "origin/main"))
	if !slices.Contains(files, "program") || slices.Contains(files, "done.txt") {
		t.Errorf("main holds %v\n%s", files, out)
	}
	p.Fsck()
}

// verdictCommit is the newest claimed commit of a directive.
func verdictCommit(t *testing.T, p *gittest.Pair, directive string) string {
	t.Helper()
	for commit := range strings.FieldsSeq(p.Run(p.Bare, "git", "rev-list", "refs/heads/agent/"+directive)) {
		if out, err := p.Try(p.Bare, nil, "", "git", "notes", "--ref=certificates", "list", commit); err == nil && out != "" {
			return commit
		}
	}
	t.Fatal(fmt.Sprint("no verdict on ", directive))
	return ""
}

// TestRefusedAddress: a review says where a directive's programs wanted to go and the fence let no
// packet pass (FORGE-3).
func TestRefusedAddress(t *testing.T) {
	tier.Full(t, "a directive in a container")
	p := fenced(t)
	p.Write("script.jsonl", `{"directive":"D-1","text":"w","calls":[{"name":"bash","args":{"command":"(: >/dev/tcp/169.254.169.254/80); echo 1 >w"}}]}`+"\n")
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: a file\n\n- [ ] it is there (`test -e w`)\n- work: w\n\n## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "a directive")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	p.Run(p.Work, "git-ward", "launch", "--bare", p.Bare, "--once", "--model", "script", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED"})
	if review := p.Run(p.Bare, "git-ward", "review", "--bare", p.Bare, "D-1"); !strings.Contains(review, "the fence refused 169.254.169.254\n") {
		t.Error(review)
	}
}
