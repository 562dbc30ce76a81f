package cycle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/activity"
	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// site is a unit of work on a real remote, which has no hooks, with a team and a
// host that do what a test says.
type site struct {
	*testing.T
	bare    string
	state   string
	store   *store.Store
	journal *store.Journal
	work    *store.Work
	last    *uow.Record // of the unit before

	earlier   int64       // iterations of other units
	residuals []string    // what the host finds after each claim; "-" for no verdict
	left      []loop.Left // without which the commands do not pass, as the verdict has it
	signals   []loop.Signal
	over      string
	limit     string
	note      string
	refusals  int

	solve  func(s *site, b Brief, subagents *Subagents) error // nil: it writes a file
	review Review
	log    bytes.Buffer // of the run
	kill   int          // end the run's context after so many transitions; 0: never
}

// asked is how the PM wants the end of D-1 told; options may follow.
const asked = "- [ ] nothing is left (`test -e done`)\n- residual: `cat left`\n- certificates: EXACT, CONVERGED\n- R_p: 1e-3\n"

// newSite opens the unit D-1.1 of a directive with these lines and makes it ACTIVE.
// Units before it have spent so many iterations.
func newSite(t *testing.T, lines string, earlier int64) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{T: t, earlier: earlier, bare: filepath.Join(dir, "remote.git"), state: filepath.Join(dir, "state")}
	s.must(os.Mkdir(s.state, 0o755))
	s.git(dir, "", "init", "--quiet", "--bare", "--initial-branch=main", s.bare)
	s.directs(lines)
	s.open()
	s.unit(1)
	return s
}

// directs has main say the directive in these lines.
func (s *site) directs(lines string, parents ...string) {
	s.Helper()
	blob := s.git(s.bare, "# COMMS\n\n## Directives\n\n### D-1: leave nothing\n\n"+lines+"\n## Reports\n", "hash-object", "-w", "--stdin")
	tree := s.git(s.bare, "100644 blob "+blob+"\tCOMMS.md\n", "mktree")
	s.git(s.bare, "", "update-ref", "refs/heads/main", s.git(s.bare, "main\n", append([]string{"commit-tree", tree}, parents...)...))
}

// edit changes the directive's lines, and opens its next unit.
func (s *site) edit(lines string) {
	s.Helper()
	s.directs(lines, "-p", "main")
	s.step(uow.Input{Event: uow.Fail, Reason: "LOOP_BUDGET_EXCEEDED"})
	s.open()
	s.last = s.journal.Last()
	s.unit(s.journal.ID.K + 1)
}

// unit opens a unit of the directive, and makes it ACTIVE.
func (s *site) unit(k int) {
	s.Helper()
	before := []*store.Journal{s.journal}
	if k == 1 {
		before = nil
	}
	s.journal = s.store.NewJournal(uow.ID{Directive: "D-1", K: k})
	s.step(uow.Input{Event: uow.Open, Reason: "DIRECTIVE_OPEN"})
	s.step(uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"})
	s.must(s.work.Begin(s.Context(), s.journal, before))
}

// open does what a process does that begins: it reads everything from refs.
func (s *site) open() {
	s.Helper()
	var err error
	s.store, err = store.Open(s.Context(), store.Options{Bare: s.bare, State: s.state, Executable: "/nonexistent"})
	s.must(err)
	main, err := s.store.Main(s.Context())
	s.must(err)
	_, doc, err := main.Comms(s.Context())
	s.must(err)
	s.work, err = s.store.Work(s.Context(), doc.Directives[0])
	s.must(err)
	journals, err := s.store.Journals(s.Context(), "D-1")
	s.must(err)
	if n := len(journals); n > 0 {
		s.journal = journals[n-1]
		s.must(s.work.Begin(s.Context(), s.journal, nil))
	}
}

// run runs the loop, once. The error is nil, or what a run that was killed says.
func (s *site) run() (End, error) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	activities, err := activity.Open(filepath.Join(s.state, "logs"))
	s.must(err)
	declaration, limits, _ := loop.Declare(s.journal.ID.String(), s.work.Directive, base())
	log := zerolog.New(&s.log)
	if s.kill > 0 {
		log = log.Hook(&killer{left: s.kill, cancel: cancel})
	}
	l := &Loop{Unit: fakeUnit{s}, Work: s.work, Journal: s.journal, Declaration: declaration, Limits: limits, Refusals: s.refusals,
		Activity: activities, Log: log,
		Now: func() time.Time { return time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC) },
	}
	return l.Run(ctx)
}

// ref is the record of the unit.
const ref = record.Prefix + "D-1.1"

// ends runs the loop and says how it ended: "STATUS REASON in LAST_STATE" of the
// report, which the record has, with manifests that hold.
func (s *site) ends() (string, *loop.Report) {
	s.Helper()
	end, err := s.run()
	s.must(err)
	s.must(s.work.Offer(s.Context())) // as the journal's step does
	r := end.Report
	{
		var there loop.Report
		s.must(json.Unmarshal([]byte(s.git(s.bare, "", "show", ref+":evidence/D-1/loop/halting_report.json")), &there))
		if there.Status != r.Status || there.StopReason != r.StopReason {
			s.Errorf("the record's report says %s %s", there.Status, there.StopReason)
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%s %s in %s", r.Status, r.StopReason, r.LastState), " in "), r
}

// killer ends a run between two states, as kill -9 does between two git children.
type killer struct {
	left   int
	cancel func()
}

func (k *killer) Run(_ *zerolog.Event, _ zerolog.Level, message string) {
	if message == "loop" {
		if k.left--; k.left == 0 {
			k.cancel()
		}
	}
}

// way is the transitions that the activity log has, in order, without their events.
func (s *site) way() string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.state, "logs", activity.Name))
	s.must(err)
	var way []string
	for line := range bytes.Lines(data) {
		var e activity.Entry
		s.must(json.Unmarshal(line, &e))
		if e.Action.Details["machine"] != "loop" || e.Task.ID != "D-1" || e.Phase != e.Action.Details["to"] {
			s.Errorf("%s", line)
		}
		from, to := e.Action.Details["from"].(string), e.Action.Details["to"].(string)
		if len(way) == 0 || way[len(way)-1] != from {
			way = append(way, from)
		}
		way = append(way, to)
	}
	return strings.Join(way, " ")
}

// amend changes the record behind the loop's back: sed over a file of it, or the
// file removed where there is no program.
func (s *site) amend(path, program string) {
	s.Helper()
	dir := s.TempDir()
	clone := filepath.Join(dir, "clone")
	s.git(dir, "", "init", "--quiet", "clone")
	s.git(clone, "", "fetch", "--quiet", s.bare, ref)
	s.git(clone, "", "checkout", "--quiet", "FETCH_HEAD")
	if program == "" {
		s.git(clone, "", "rm", "--quiet", path)
	} else {
		data, err := os.ReadFile(filepath.Join(clone, path))
		s.must(err)
		old, new, _ := strings.Cut(program, " => ")
		if !bytes.Contains(data, []byte(old)) {
			s.Fatalf("%s has no %q:\n%s", path, old, data)
		}
		s.must(os.WriteFile(filepath.Join(clone, path), bytes.ReplaceAll(data, []byte(old), []byte(new)), 0o644))
	}
	s.git(clone, "", "commit", "--quiet", "--all", "--message=by hand")
	s.git(clone, "", "push", "--quiet", s.bare, "HEAD:"+ref)
	s.open()
}

func (s *site) step(in uow.Input) {
	s.Helper()
	in.Actor, in.Time = uow.Agent, time.Now()
	s.must(s.journal.Append(s.Context(), []uow.Input{in}, s.world()))
}

func (s *site) world() uow.World {
	d := s.work.Directive
	m, found := loop.Main(&d, base(), nil)
	if len(found) > 0 {
		s.Fatal(found)
	}
	if s.journal != nil {
		m.Spent = uow.Spent(m.DirectiveHash, s.journal.Records)
	}
	m.Spent.Iterations += s.earlier
	return uow.World{Main: m, Last: s.last}
}

// verdict is the host's on the present claim.
func (s *site) verdict(p loop.Declaration, commit, claim string) *loop.Verdict {
	claims := 0
	for _, rec := range s.journal.Records {
		if rec.Event == uow.MakeClaim {
			claims++
		}
	}
	i := min(claims, len(s.residuals)) - 1
	if s.residuals[i] == "-" {
		return nil
	}
	value, err := loop.ParseResidual(s.residuals[i])
	s.must(err)
	met := loop.Outcome{Criterion: p.Commands[0].Text, Command: p.Commands[0].Command, Met: value.Zero(), OutputSHA256: loop.Digest(nil)}
	if !met.Met {
		met.ExitCode = 1
	}
	trial := loop.Trial{Criteria: []loop.Outcome{met}, Residual: &loop.Outcome{Command: p.Residual, Met: true, OutputSHA256: loop.Digest(nil)}, Value: value}
	v := loop.Judge(p, []loop.Trial{trial, trial})
	v.Commit, v.Claim, v.Record, v.Left, v.NotIncluded = commit, claim, s.journal.Claimed().Claim.Record, s.left, len(s.left) > 0
	return &v
}

func base() loop.Base { return loop.Base(config.Default().Loop) }

// fakeUnit is as the site says.
type fakeUnit struct{ *site }

func (u fakeUnit) Team(_ context.Context, told *Subagents) (Team, error) {
	return fakeTeam{u.site, told}, nil
}
func (u fakeUnit) World(context.Context) (uow.World, error) { return u.world(), nil }
func (u fakeUnit) Signals(context.Context) []loop.Signal    { return u.signals }
func (u fakeUnit) Over() string                             { return u.over }
func (u fakeUnit) Limit(context.Context) string             { return u.limit }
func (u fakeUnit) Words() string                            { return "" }
func (u fakeUnit) Note() string                             { return u.note }
func (u fakeUnit) Noted()                                   { u.note = "" }
func (u fakeUnit) Verdict(_ context.Context, commit, claim string) (*loop.Verdict, error) {
	declaration, _, _ := loop.Declare(u.journal.ID.String(), u.work.Directive, base())
	return u.verdict(declaration, commit, claim), nil
}

// fakeTeam does what the site says.
type fakeTeam struct {
	*site
	subagents *Subagents
}

func (t fakeTeam) Solve(_ context.Context, b Brief, refusal string) (interaction.Done, error) {
	done := interaction.Done{Words: "done as told", Tally: model.Tally{Calls: 1}}
	if t.solve != nil {
		return done, t.solve(t.site, b, t.subagents)
	}
	_, end := t.subagents.Begin(t.Context(), "Continue.\n"+string(b.Capsule))
	defer end()
	return done, t.write("work", fmt.Sprint(b.Iteration))
}

func (t fakeTeam) Review(_ context.Context, b Brief, r Result) (Review, int, error) {
	return t.review, 1, nil
}

// write writes a file of the working tree.
func (s *site) write(path, content string) error {
	path = filepath.Join(s.work.Dir(), path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

func (s *site) git(dir, input string, args ...string) string {
	s.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
