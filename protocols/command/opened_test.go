package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(worked.dir)
	gittest.Clean()
	os.Exit(code)
}

// directives are what is worked on before the tests, as a stand-in of the agent plays
// it: D-1, D-2 and D-3 are met, D-3 where D-1 is, too; D-4 is not; D-5 is at work, with
// nothing claimed; nobody takes up D-6.
var directives = []string{
	"greet the user\n\nAdd greet.sh.\n\n- [ ] it greets (`sh greet.sh Ada | grep -x \"Hello, Ada.\"`)\n- max_iterations: 2\n",
	"say bye\n\nAdd bye.sh.\n\n- [ ] it says bye (`sh bye.sh | grep -x Bye`)\n- max_iterations: 2\n",
	"greet loudly\n\nAdd greet.sh.\n\n- [ ] it is loud (`sh greet.sh Ada | grep -x \"HELLO, Ada.\"`)\n- max_iterations: 2\n",
	"do what cannot be\n\nIt fails.\n\n- [ ] it holds (`cat said; false`)\n- max_iterations: 2\n",
	"go on\n\nIt takes its time.\n\n- [ ] it holds (`true`)\n- max_iterations: 2\n",
}

// change is a file of the work: its mode, and what it holds.
type change struct{ mode, path, text string }

// changes are the work on the directives, in their order.
var changes = [][]change{
	{{"100644", "greet.sh", "echo \"Hello, $1.\"\n"}, {"100644", "CLAUDE.md", "Obey.\n"}, {"120000", "link", "greet.sh"}, {"100644", "bin", "a\x00b"}, {"100755", "run", "x\n"}, {"100644", "tests/x", "t\n"}},
	{{"100644", "bye.sh", "echo Bye\n"}},
	{{"100644", "greet.sh", "echo \"HELLO, $1.\"\n"}},
	{{"100644", "said", "not yet\n"}},
	{{"100644", "begun", "x\n"}},
}

// worked is a directory with a repository on which an agent has worked.
var worked struct {
	once sync.Once
	dir  string
}

// newCopy is a copy of it, with a clone of its own.
func newCopy(t *testing.T) *gittest.Pair {
	t.Helper()
	tier.First(t, "the built programs, real hooks and pushes")
	worked.once.Do(func() { worked.dir = work(t) })
	if worked.dir == "" {
		t.Fatal("nobody has worked")
	}
	p := at(t, t.TempDir())
	p.Run(filepath.Dir(p.Bare), "cp", "-a", filepath.Join(worked.dir, "remote.git"), p.Bare)
	p.Run(filepath.Dir(p.Bare), "git-ward", "clone", p.Bare, p.Work)
	return p
}

func at(t *testing.T, dir string) *gittest.Pair {
	t.Helper()
	env, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &gittest.Pair{T: t, Bare: filepath.Join(dir, "remote.git"), Work: filepath.Join(dir, "work"), Env: append(env, "TERM=dumb")}
}

func work(t *testing.T) string {
	dir, err := os.MkdirTemp("", "ward-directives-")
	if err != nil {
		t.Fatal(err)
	}
	p := at(t, dir)
	p.Run(dir, "git-ward", "init", "--bare", p.Bare)
	p.Run(dir, "git-ward", "clone", p.Bare, p.Work)
	for _, text := range directives {
		p.Run(p.Work, "git-ward", "directive", "new", "--untried", "-m", text)
	}
	p.Git("pull", "--quiet", "--rebase")
	for i := range directives {
		play(p, i)
	}
	p.Run(p.Work, "git-ward", "directive", "new", "--untried", "-m", "one more\n\n- [ ] x (`true`)\n")
	p.Fsck()
	return dir
}

// play does what the agent and the host do on a directive: work, record and journal by
// pushes of the agent's, the verdict as a note of the host's, the report.
func play(p *gittest.Pair, i int) {
	t := p.T
	id := uow.ID{Directive: fmt.Sprintf("D-%d", i+1), K: 1}
	data, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := comms.Parse(data)
	d := doc.Directive(id.Directive)
	policy, err := os.ReadFile(filepath.Join(p.Work, uow.PolicyPath))
	if err != nil {
		t.Fatal(err)
	}
	main, found := loop.Main(d, loop.Base(config.Default().Loop), policy)
	if len(found) > 0 {
		t.Fatal(found)
	}
	base := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	repo := git.Open(filepath.Join(p.Work, ".git"))
	commit := commitWork(p, id, base, changes[i])
	paper := fmt.Sprintf("the learnings of %s", id)
	root, err := repo.CommitFile("", record.Learnings, []byte(paper+"\n"), time.Now(), "record: "+id.String()+" begins\n\nWard-Directive: "+id.Directive)
	if err != nil {
		t.Fatal(err)
	}
	tree := withWords(p, repo, root, id)
	second, err := repo.CommitMerge("Ward Agent <agent@ward>", tree, []string{root, commit}, time.Now(), "record: a claim\n\nWard-Directive: "+id.Directive)
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{p: p, id: id, main: main, repo: repo}
	j.step("DIRECTIVE_OPEN", uow.Input{Event: uow.Open})
	j.step("WORK_STARTED", uow.Input{Event: uow.Activate})
	j.step("ITERATION_STARTED", uow.Input{Event: uow.Iterate})
	j.push(root + ":" + record.Ref(id))
	if i == 4 {
		j.push(commit + ":refs/heads/agent/" + id.Directive)
		return
	}
	j.step("WORK_CLAIMED", uow.Input{Event: uow.MakeClaim, Commit: commit, Record: second})
	j.push(commit+":refs/heads/agent/"+id.Directive, second+":"+record.Ref(id))
	v := loop.Verdict{SchemaVersion: loop.SchemaVersion, Unit: id.String(), DirectiveHash: d.Hash(), Commit: commit, Record: second, Claim: j.last.Hash, Iteration: 1,
		Verdict: loop.Exact, Lane: loop.LaneA, Reason: "every criterion is met", Main: base, Base: base, Deviations: []string{}, Fence: loop.FenceNone, Trials: 2, Agree: true, Rung: loop.Rung274177,
		Time: uow.FormatTime(time.Now()), Caveat: loop.Caveat, Criteria: []loop.Outcome{{Criterion: d.Criteria[0].Text, Command: d.Criteria[0].Command, Met: true}}}
	v.Residual, _ = loop.ParseResidual("0")
	status, end := comms.ExitConverged, uow.Input{Event: uow.Complete}
	if i == 3 {
		v.Verdict, v.Lane, v.Rung, v.Reason, v.Residual = loop.None, loop.LaneC, 0, "not met: it holds", loop.Residual{}
		v.Criteria[0].Met, v.Criteria[0].ExitCode, v.Criteria[0].Tail = false, 1, "not \x1b[2Jyet\n"
		status, end = comms.ExitDiverged, uow.Input{Event: uow.Fail}
	}
	line, err := v.Line()
	if err != nil {
		t.Fatal(err)
	}
	p.Run(p.Bare, "git", "-c", "user.name=Ward", "-c", "user.email=ward@localhost", "notes", "--ref=certificates", "append", "-m", string(line), commit)
	reason := map[uow.Event]uow.Reason{uow.Complete: "LOOP_CONVERGED", uow.Fail: "LOOP_DIVERGED"}[end.Event]
	j.step(reason, end)
	j.step("ANALYSIS_STARTED", uow.Input{Event: uow.Refine})
	j.push()
	amended, err := comms.Amend(data, comms.NewReport{Time: time.Now(), Directive: id.Directive, Status: status, DirectiveHash: d.Hash(), Text: "All is done, says the agent.\nnext: git ward take D-4"}, comms.Whole)
	if err != nil {
		t.Fatal(err)
	}
	p.Write("COMMS.md", string(amended.Data))
	p.Git("commit", "--quiet", "-am", "comms: report")
	if out, err := p.AgentPush("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	j.step("ANALYSIS_DONE", uow.Input{Event: uow.Archive})
	j.push()
}

// withWords is the tree of a record with the worker's last words of its first iteration.
func withWords(p *gittest.Pair, repo *git.Repo, root string, id uow.ID) string {
	p.T.Helper()
	batch := repo.Batch(p.T.Context())
	defer batch.Close()
	top, err := batch.Info(root + "^{tree}")
	if err != nil {
		p.T.Fatal(err)
	}
	words := "I did " + id.Directive + ".\n\nThe second line, too.\n"
	tree, err := batch.EditTree(top.ID, map[string][]byte{loop.IterationDir(id.Directive, 0) + "/" + loop.WordsFile: []byte(words)})
	if err != nil {
		p.T.Fatal(err)
	}
	return tree
}

// commitWork commits files on top of base, as the agent does.
func commitWork(p *gittest.Pair, id uow.ID, base string, files []change) string {
	p.T.Helper()
	var b strings.Builder
	message := "the words of " + id.String() + "\n\nWard-Directive: " + id.Directive + "\nWard-Iteration: 1\nWard-Record: " + record.Ref(id) + "\n"
	fmt.Fprintf(&b, "commit refs/heads/tmp\ncommitter Ward Agent <agent@ward> %d +0000\ndata %d\n%s\nfrom %s\n", time.Now().Unix(), len(message), message, base)
	for _, c := range files {
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", c.mode, c.path, len(c.text), c.text)
	}
	if out, err := p.Try(p.Work, nil, b.String(), "git", "fast-import", "--quiet", "--force"); err != nil {
		p.T.Fatal(out)
	}
	return strings.TrimSpace(p.Git("rev-parse", "refs/heads/tmp"))
}

// journal is a unit's journal as the agent makes it.
type journal struct {
	p    *gittest.Pair
	id   uow.ID
	main *uow.Main
	repo *git.Repo
	last *uow.Record
	tip  string
}

func (j *journal) step(reason uow.Reason, in uow.Input) {
	j.p.T.Helper()
	in.Actor, in.Reason, in.Time = uow.Agent, reason, time.Now()
	next, found := uow.Advance(j.id, j.last, in, uow.World{Main: j.main})
	if len(found) > 0 {
		j.p.T.Fatal(found)
	}
	data, err := next.Marshal()
	if err == nil {
		j.tip, err = j.repo.CommitFile(j.tip, uow.File, data, in.Time, uow.Subject(next))
	}
	if err != nil {
		j.p.T.Fatal(err)
	}
	j.last = next
}

// push pushes the journal with what goes with it.
func (j *journal) push(refspecs ...string) {
	j.p.T.Helper()
	if out, err := j.p.AgentPush(append([]string{"--atomic", j.tip + ":" + j.id.Ref()}, refspecs...)...); err != nil {
		j.p.T.Fatalf("%s: %s", j.id, out)
	}
}

// ward runs git ward in the clone and holds its exit code to what is wanted; out is
// both its outputs.
func ward(t *testing.T, p *gittest.Pair, exit int, args ...string) (out string) {
	t.Helper()
	return wardIn(t, p, p.Work, exit, nil, args...)
}

func wardIn(t *testing.T, p *gittest.Pair, dir string, exit int, env []string, args ...string) string {
	t.Helper()
	out, err := p.Try(dir, env, "", "git-ward", args...)
	code := 0
	if ended, ok := err.(*exec.ExitError); ok {
		code = ended.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != exit {
		t.Fatalf("git ward %q: exit %d, want %d:\n%s", args, code, exit, out)
	}
	return out
}

// tip is where a ref of the bare repository stands.
func tip(p *gittest.Pair, ref string) string {
	p.T.Helper()
	return strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", ref))
}
