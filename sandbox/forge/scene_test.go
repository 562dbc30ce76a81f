package forge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// scene is a project on a Gitea and the guarded repository that is kept in step with it.
type scene struct {
	*gittest.Pair
	forge   *gitea
	control string // a working tree of the control branch
}

func newScene(t *testing.T) *scene {
	t.Helper()
	g := newGitea(t)
	p := newProject(t, g.clone())
	await.True(t, "the forge to know that the project is not empty", func() bool { // before that it knows no requests
		var at struct{ Empty bool }
		g.call("GET", "", nil, &at)
		return !at.Empty
	})
	return guard(p, g, g.url+"/"+g.name, g.bot.Token)
}

// newProject pushes a project's first commit.
func newProject(t *testing.T, to string) *gittest.Pair {
	t.Helper()
	dir := t.TempDir()
	env, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &gittest.Pair{T: t, Bare: filepath.Join(dir, "remote.git"), Work: filepath.Join(dir, "work"), Env: append(env, "TERM=dumb")}
	p.Run(dir, "git", "init", "--quiet", "--initial-branch=main", p.Work)
	p.Write("README", "a project\n")
	p.Git("add", "--all")
	p.Git("commit", "--quiet", "--message", "the project as it was")
	p.Git("push", "--quiet", to, "HEAD:main")
	return p
}

// guard makes the guarded repository of a project on a forge.
func guard(p *gittest.Pair, g *gitea, page, token string) *scene {
	p.T.Helper()
	dir := filepath.Dir(p.Bare)
	p.Run(dir, "git", "clone", "--quiet", "--bare", page+".git", p.Bare)
	p.Run(dir, "rm", "-r", p.Work)
	p.Run(dir, "git-ward", "init", "--bare", p.Bare)
	p.Run(dir, "git-ward", "clone", p.Bare, p.Work)
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		p.T.Fatal(err)
	}
	p.Run(dir, "git-ward", "config", "--bare", p.Bare, "forge.url="+page, "forge.token_file="+file)
	return &scene{p, g, p.Work + ".ward"}
}

// once is one pass by the program, which must end so.
func (s *scene) once(exit int, env ...string) string {
	s.T.Helper()
	out, err := s.Try(s.Bare, env, "", "git-ward", "forge", "--once", "--bare", s.Bare)
	code := 0
	if ended, ok := err.(*exec.ExitError); ok {
		code = ended.ExitCode()
	} else if err != nil {
		s.T.Fatal(err)
	}
	if code != exit {
		s.T.Fatalf("git ward forge: exit %d, want %d:\n%s", code, exit, out)
	}
	return out
}

func (s *scene) at(ref string) string {
	s.T.Helper()
	return strings.TrimSpace(s.Run(s.Bare, "git", "rev-parse", ref))
}

// unit is a unit that an agent plays.
type unit struct {
	s    *scene
	id   uow.ID
	main *uow.Main
	repo *git.Repo
	d    *comms.Directive
	last *uow.Record
	tip  string

	before *uow.Record // the last of the unit before it
}

// begin opens a unit of a directive.
func (s *scene) begin(directive string) *unit { return s.goOn(directive, 1, nil) }

// goOn opens a further one.
func (s *scene) goOn(directive string, k int, before *uow.Record) *unit {
	s.T.Helper()
	data := []byte(s.Run(s.Bare, "git", "show", "ward:COMMS.md"))
	doc, _ := comms.Parse(data)
	u := &unit{s: s, id: uow.ID{Directive: directive, K: k}, repo: git.Open(filepath.Join(s.Work, ".git")), d: doc.Directive(directive), before: before}
	if u.d == nil {
		s.T.Fatalf("no %s in %s", directive, data)
	}
	policy := s.Run(s.Bare, "git", "show", "ward:"+uow.PolicyPath)
	main, found := loop.Main(u.d, loop.Base(config.Default().Loop), []byte(policy))
	if len(found) > 0 {
		s.T.Fatal(found)
	}
	u.main = main
	u.step("DIRECTIVE_OPEN", uow.Input{Event: uow.Open})
	u.step("WORK_STARTED", uow.Input{Event: uow.Activate})
	u.step("ITERATION_STARTED", uow.Input{Event: uow.Iterate})
	return u
}

func (u *unit) step(reason uow.Reason, in uow.Input) {
	u.s.T.Helper()
	in.Actor, in.Reason, in.Time = uow.Agent, reason, time.Now()
	next, found := uow.Advance(u.id, u.last, in, uow.World{Main: u.main, Last: u.before})
	if len(found) > 0 {
		u.s.T.Fatal(found)
	}
	data, err := next.Marshal()
	if err == nil {
		u.tip, err = u.repo.CommitFile(u.tip, uow.File, data, in.Time, uow.Subject(next))
	}
	if err != nil {
		u.s.T.Fatal(err)
	}
	u.last = next
}

// claims does work on top of the project, claims it and pushes it.
func (u *unit) claims(name, text string) (commit string) {
	s := u.s
	s.T.Helper()
	s.Git("fetch", "--quiet", "origin")
	base := strings.TrimSpace(s.Git("rev-parse", "origin/main"))
	message := fmt.Sprintf("work on %s\n\nWard-Directive: %s\nWard-Iteration: 1\nWard-Record: %s\n", u.id.Directive, u.id.Directive, record.Ref(u.id))
	stream := fmt.Sprintf("commit refs/heads/tmp\ncommitter Ward Agent <agent@ward> %d +0000\ndata %d\n%s\nfrom %s\nM 100644 inline %s\ndata %d\n%s\n", time.Now().Unix(), len(message), message, base, name, len(text), text)
	if out, err := s.Try(s.Work, nil, stream, "git", "fast-import", "--quiet", "--force"); err != nil {
		s.T.Fatal(out)
	}
	commit = strings.TrimSpace(s.Git("rev-parse", "refs/heads/tmp"))
	root, err := u.repo.CommitFile("", record.Learnings, []byte("nothing\n"), time.Now(), "record: "+u.id.String()+" begins\n\nWard-Directive: "+u.id.Directive)
	if err != nil {
		s.T.Fatal(err)
	}
	second, err := u.repo.CommitMerge("Ward Agent <agent@ward>", strings.TrimSpace(s.Git("rev-parse", root+"^{tree}")), []string{root, commit}, time.Now(), "record: a claim\n\nWard-Directive: "+u.id.Directive)
	if err != nil {
		s.T.Fatal(err)
	}
	u.push(root + ":" + record.Ref(u.id))
	u.step("WORK_CLAIMED", uow.Input{Event: uow.MakeClaim, Commit: commit, Record: second})
	u.push(commit+":refs/heads/agent/"+u.id.Directive, second+":"+record.Ref(u.id))
	return commit
}

func (u *unit) push(refspecs ...string) {
	u.s.T.Helper()
	if out, err := u.s.AgentPush(append([]string{"--atomic", u.tip + ":" + u.id.Ref()}, refspecs...)...); err != nil {
		u.s.T.Fatalf("%s: %s", u.id, out)
	}
}

// verdict is the host's on the claim.
func (u *unit) verdict(word string) {
	u.s.T.Helper()
	c := u.last.Claim
	v := loop.Verdict{SchemaVersion: loop.SchemaVersion, Unit: u.id.String(), DirectiveHash: u.d.Hash(), Commit: c.Commit, Record: c.Record, Claim: u.last.Hash, Iteration: 1,
		Verdict: word, Lane: loop.LaneA, Reason: "every criterion is met", Main: u.s.at("main"), Base: u.s.at("main"), Deviations: []string{}, Fence: loop.FenceNone, Trials: 2, Agree: true, Rung: loop.Rung274177,
		Time: uow.FormatTime(time.Now()), Caveat: loop.Caveat, Assisted: []string{"codex:gpt-5"}, Criteria: []loop.Outcome{{Criterion: u.d.Criteria[0].Text, Command: u.d.Criteria[0].Command, Met: true}}}
	v.Residual, _ = loop.ParseResidual("0")
	if word == loop.None {
		v.Lane, v.Rung, v.Reason, v.Residual = loop.LaneC, 0, "not met: it greets", loop.Residual{}
		v.Criteria[0].Met, v.Criteria[0].ExitCode = false, 1
	}
	line, err := v.Line()
	if err != nil {
		u.s.T.Fatal(err)
	}
	u.s.Run(u.s.Bare, "git", "-c", "user.name=Ward", "-c", "user.email=ward@localhost", "notes", "--ref=certificates", "append", "-m", string(line), c.Commit)
}

var uowComplete = uow.Input{Event: uow.Complete}
