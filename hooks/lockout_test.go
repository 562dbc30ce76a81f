package hooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/hooks/push"
	"git-ward/internal/configtest"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// No push locks others out, and none leaves no trace (GATE-6).

// rawLines is a push of ref updates as git's protocol has it, without a pack.
func rawLines(p *gittest.Pair, token []string, updates []push.Update) string {
	p.T.Helper()
	var b strings.Builder
	for i, u := range updates {
		text := u.Old + " " + u.New + " " + u.Ref
		if i == 0 {
			text += "\x00report-status"
		}
		fmt.Fprintf(&b, "%04x%s", len(text)+4, text)
	}
	b.WriteString("0000")
	pack, err := p.Try(p.Work, nil, "", "git", "pack-objects", "--stdout", "--quiet")
	if err != nil {
		p.T.Fatal(err, pack)
	}
	out, _ := p.Try(filepath.Dir(p.Bare), token, b.String()+pack, "git", "receive-pack", p.Bare)
	return out
}

// TestOddRefNames: a refusal of 16,000 odd ref names wrote a record of 16.5 MB that
// no reader took, and nobody could push any more.
func TestOddRefNames(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	main := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	token, err := gittest.AgentToken(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	odd := strings.Repeat("\u2028\x01", 40)
	var updates []push.Update
	for i := range 16_000 {
		updates = append(updates, push.Update{Ref: fmt.Sprintf("refs/heads/agent/%d%s", i, odd), Old: git.Zero, New: main})
	}
	out := rawLines(p, token, updates)
	if !strings.Contains(out, "limit/refs: the push has 16000 refs, more than 4000") {
		t.Errorf("the refusal does not say why:\n%.2000s", out)
	}
	record := newest(p)
	if !strings.Contains(record, `"omitted":{"refs":15984,`) || !strings.Contains(record, `"sha256":`) || len(record) > 4<<20 {
		t.Errorf("a record of %d bytes that does not say what it leaves out: %.300s", len(record), record)
	}
	stillWorks(t, p)
}

// TestNamesThatAreNotUTF8 are recorded, escaped.
func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	main := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	token, err := gittest.AgentToken(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	rawLines(p, token, []push.Update{{Ref: "refs/heads/agent/\xff\xfe", Old: git.Zero, New: main}})
	if record := newest(p); !strings.Contains(record, `refs/heads/agent/\\xff\\xfe`) || !strings.Contains(record, `"refused"`) {
		t.Error(record)
	}
	stillWorks(t, p)

	// One that stands there, from before Ward, counts as what it is.
	p.Run(p.Bare, "git", "update-ref", "refs/heads/old-\xe4", main)
	fsckFinds(p, "fsck/unrecorded")
	p.Run(p.Bare, "git-ward", "init", "--bare", p.Bare)
	stillWorks(t, p)
}

// TestSlowChainedPostReceive: Ward's own deadlines do not end a hook that deploys what
// was pushed.
func TestSlowChainedPostReceive(t *testing.T) {
	tier.Full(t, "it waits longer than post-receive may take for the record")
	t.Parallel()
	p := newPair(t)
	chained(p, "post-receive", "sleep 11; echo it is deployed\n")
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil || !strings.Contains(out, "it is deployed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRefusalWithABrokenTrace: a refusal whose pending file somebody broke meanwhile is
// said not to be recorded yet, and the next push records it.
func TestRefusalWithABrokenTrace(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	chained(p, "pre-receive", `read old new ref
test "$ref" != refs/heads/agent/broken || { for f in "$GIT_DIR"/ward/pending/*.json; do echo { >"$f"; done; exit 1; }
`)
	p.Commit("f", "1")
	if out, err := p.AgentPush("HEAD:refs/heads/agent/broken"); err == nil || !strings.Contains(out, "the refusal is not recorded yet, the next push does it") {
		t.Fatalf("%v\n%s", err, out)
	}
	stillWorks(t, p)
	if out := p.Run(p.Bare, "git-ward", "log", "--refused"); !strings.Contains(out, "agent/broken") || !strings.Contains(out, "chained/pre-receive") {
		t.Error(out)
	}
	p.Fsck()
}

// TestKilledPreReceive: a hook that a limit kills leaves a trace, which becomes the
// push's record.
func TestKilledPreReceive(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	marker := filepath.Join(t.TempDir(), "kill")
	chained(p, "pre-receive", "test ! -e "+marker+" || kill -9 $PPID\n")
	if err := os.WriteFile(marker, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.Commit("f", "1")
	if out, err := p.AgentPush("HEAD:refs/heads/agent/killed"); err == nil {
		t.Fatalf("admitted:\n%s", out)
	}
	if err := os.Remove(marker); err != nil {
		t.Fatal(err)
	}
	fsckFinds(p, "1 push ended without a record")
	stillWorks(t, p)
	record := recordsOf(p, "refs/heads/agent/killed")
	if strings.Count(record, "\n") != 1 || !strings.Contains(record, `"verdict":"refused"`) || !strings.Contains(record, `"trouble/killed"`) || !strings.Contains(record, `"principal":"agent"`) {
		t.Errorf("the record of the push that was killed: %s", record)
	}
}

// TestTroubleIsRecorded: a push that cannot be judged is recorded, whatever is the matter.
func TestTroubleIsRecorded(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	config := filepath.Join(p.Bare, "ward/config.toml")
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(good, "\nunknown_key = 1\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Commit("f", "1")
	if out, err := p.Push("main"); err == nil || !strings.Contains(out, "unknown_key") {
		t.Fatalf("%v\n%s", err, out)
	}
	if record := newest(p); !strings.Contains(record, "trouble/settings") {
		t.Error(record)
	}
	if err := os.WriteFile(config, good, 0o644); err != nil {
		t.Fatal(err)
	}
	stillWorks(t, p)
}

// TestManyOptions: push options beyond what is read refuse (exit 1), and are recorded.
func TestManyOptions(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Commit("f", "1")
	args := []string{"push"}
	for i := range 1001 {
		args = append(args, "-o", fmt.Sprint(i))
	}
	out, err := p.Try(p.Work, nil, "", "git", append(args, "origin", "main")...)
	if err == nil || !strings.Contains(out, "limit/options: the push has more than 1000 options") {
		t.Fatalf("%v\n%s", err, out)
	}
	if record := newest(p); !strings.Contains(record, "limit/options") {
		t.Error(record)
	}
	stillWorks(t, p)
}

// mesh writes plans that all call each other.
func mesh(p *gittest.Pair, n int) {
	p.T.Helper()
	for i := range n {
		var b strings.Builder
		b.WriteString("# FSM: sub\n")
		for k := range n {
			if k != i {
				fmt.Fprintf(&b, "call_plan plans/p%03d.txt\n", k)
			}
		}
		p.Write(fmt.Sprintf("plans/p%03d.txt", i), b.String())
	}
	p.Git("add", ".")
	p.Git("commit", "--quiet", "-m", "a mesh of plans")
}

// TestMeshOfPlans: 400 plans that call each other kept a hook busy for 200 seconds.
// They are judged, and with default settings nobody waits for the deadline.
func TestMeshOfPlans(t *testing.T) {
	p := newPair(t)
	p.Git("switch", "--quiet", "--create", "agent/mesh")
	mesh(p, 400)
	out := answered(t, p, "agent/mesh")
	if !strings.Contains(out, "plan/bounded-recursion") && !strings.Contains(out, "limit/time") {
		t.Errorf("%s", out)
	}
	stillWorks(t, p)
}

// answered pushes as the agent and wants a refusal.
func answered(t *testing.T, p *gittest.Pair, refspec string) string {
	t.Helper()
	out, err := p.AgentPush(refspec)
	if err == nil {
		t.Fatalf("admitted:\n%s", out)
	}
	return out
}

// TestDeadlineEndsLoops: the deadline is kept from outside, whatever loop runs, and
// the push that met it is recorded.
func TestDeadlineEndsLoops(t *testing.T) {
	p := newPair(t)
	configtest.Set(p.T, p.Bare, `deadline = "1ms"`)
	p.Git("switch", "--quiet", "--create", "agent/mesh")
	mesh(p, 100)
	out := answered(t, p, "agent/mesh")
	if !strings.Contains(out, "limit/time: the push was not judged within 1ms of work") {
		t.Errorf("%s", out)
	}
	if record := newest(p); !strings.Contains(record, `"limit/time"`) || !strings.Contains(record, `"refused"`) {
		t.Error(record)
	}
	configtest.Set(p.T, p.Bare, `deadline = "9s"`)
	stillWorks(t, p)
}

// TestMaintainRecords: where nobody pushes, maintenance records what a hook that died
// left, and keeps the reflog that tells of a cut chain.
func TestMaintainRecords(t *testing.T) {
	tier.Full(t, "it packs a repository three times")
	t.Parallel()
	p := newPair(t)
	hook := filepath.Join(p.Bare, "hooks/post-receive")
	if err := os.Rename(hook, hook+".off"); err != nil {
		t.Fatal(err)
	}
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(out)
	}
	if err := os.Rename(hook+".off", hook); err != nil {
		t.Fatal(err)
	}
	p.Run(p.Bare, "git", "config", "gc.reflogExpire", "now")
	p.Run(p.Bare, "git", "config", "gc.reflogExpireUnreachable", "now")
	if out := p.Run(p.Bare, "git-ward", "maintain", p.Bare); !strings.Contains(out, "recorded 1 push that ended without a record") {
		t.Error(out)
	}
	p.Fsck()
	p.Run(p.Bare, "git", "-c", "gc.reflogExpire=never", "update-ref", "refs/ward/audit", "refs/ward/audit~1")
	p.Run(p.Bare, "git-ward", "maintain", p.Bare)
	fsckFinds(p, "fsck/tail: its end was cut")
}

// TestHeldLock: a writer of the audit that was stopped in the middle holds up others
// for seconds at most, and what they could not record is recorded later.
func TestHeldLock(t *testing.T) {
	tier.Full(t, "two hooks wait as long as they may for the lock")
	t.Parallel()
	p := newPair(t)
	f, err := os.OpenFile(filepath.Join(p.Bare, "ward/audit.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if out := answered(t, p, "HEAD:refs/heads/other"); !strings.Contains(out, "rights/ref") || !strings.Contains(out, "the refusal is not recorded yet") {
		t.Error(out)
	}
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil || !strings.Contains(out, "is not recorded yet") {
		t.Errorf("%v\n%s", err, out)
	}
	f.Close()
	stillWorks(t, p)
	if log := p.Run(p.Bare, "git-ward", "log", "--json"); strings.Count(log, `"rights/ref"`) != 1 || strings.Count(log, `"reconciled":true`) < 2 {
		t.Error(log)
	}
}
