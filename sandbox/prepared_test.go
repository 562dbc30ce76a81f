package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/benchtest"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/process"
	"git-ward/internal/tier"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/verifier"
	"git-ward/sandbox/verifier/local"
)

// judging is a launch's verifier of a pair's repository, and a claim of main's tip.
func judging(t *testing.T, p *gittest.Pair, line string) (*local.Verifier, verifier.Claim) {
	t.Helper()
	settings, err := config.Load(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	at := fence.Podman{Storage: testStorage, Inside: filepath.Join(bin, fence.ForwarderProgram)}
	shared := fence.Share(t.Context(), time.Hour, zerolog.Nop(), func(ctx context.Context) (*fence.Connection, error) {
		return fence.Connect(ctx, fence.OwnerOf(p.Bare), at, settings)
	})
	policy, err := fence.Policy(t.Context(), settings, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	v := &local.Verifier{Bare: p.Bare, Settings: settings, Podman: at, Policy: policy, Log: zerolog.New(zerolog.NewTestWriter(t)), Shared: shared}
	t.Cleanup(func() {
		v.Close()
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	main, err := git.Open(p.Bare).Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	return v, verifier.Claim{Commit: main, Main: main, Base: main, Replays: 2, Bounds: local.Bounds(settings), Commands: []verifier.Command{{Name: "criterion 1", Line: line}}}
}

// waiting are a repository's containers in which a shell waits, or a command runs, each by when its
// first process began: numbers of namespaces are soon used again.
func waiting(bare string) (all []string) {
	name := "git-ward-" + fence.OwnerOf(bare)
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range dirs {
		line, _ := os.ReadFile(file)
		if words := strings.Split(string(line), "\x00"); filepath.Base(words[0]) != "conmon" || !strings.Contains(string(line), name) {
			continue
		}
		var pid int
		fmt.Sscanf(file, "/proc/%d/", &pid)
		for _, first := range process.ChildrenOf(pid) {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", first.PID)) // before, it is the runtime
			if string(comm) == fence.ForwarderProgram+"\n" && len(process.ChildrenOf(first.PID)) > 0 {
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", first.PID))
				all = append(all, strings.Fields(string(stat) + strings.Repeat(" 0", 22))[21])
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestPreparedVerdict: while somebody works, the containers of the next verdict wait with their
// fences in place. It runs in them; what they would be now and are not is thrown away; one more is
// made where a verdict asks for more work; and none is left when nobody works.
func TestPreparedVerdict(t *testing.T) {
	tier.Full(t, "it makes containers")
	p := fenced(t)
	v, claim := judging(t, p, "cut -d' ' -f22 /proc/1/stat")
	ran := func() (all []string) {
		t.Helper()
		facts, err := v.Verify(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		for _, runs := range facts.Replays {
			all = append(all, strings.TrimSpace(runs[0].Tail))
		}
		slices.Sort(all)
		return all
	}
	none := func() {
		t.Helper()
		await.True(t, "no container is left", func() bool { return len(waiting(p.Bare)) == 0 })
	}
	two := func() []string {
		t.Helper()
		await.True(t, "two containers wait", func() bool { return len(waiting(p.Bare)) == 2 })
		return waiting(p.Bare)
	}
	ran()
	none()
	enough := v.Ahead(t.Context())
	if wait := two(); !slices.Equal(ran(), wait) {
		t.Errorf("the verdict did not run where it was prepared: %v", wait)
	}
	none() // it asks for nothing more
	enough()

	enough = v.Ahead(t.Context())
	wait := two()
	v.Settings.Sandbox.TmpSize /= 2
	for _, in := range ran() {
		if slices.Contains(wait, in) {
			t.Error("a container of other settings was used")
		}
	}
	await.True(t, "it is thrown away", func() bool {
		return !slices.ContainsFunc(waiting(p.Bare), func(c string) bool { return slices.Contains(wait, c) })
	})
	claim.Commands[0].Line = "false"
	ran()
	two() // for the next claim
	enough()
	none()
}

// TestBenchPrepared is a verdict under a launcher whose agent has worked until then.
func TestBenchPrepared(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	p := fenced(t)
	v, claim := judging(t, p, ":")
	judge := func() time.Duration {
		start := time.Now()
		facts, err := v.Verify(t.Context(), claim)
		if err != nil || !facts.OK() {
			t.Fatal(err, facts)
		}
		return time.Since(start)
	}
	var ahead, cold []time.Duration
	for range 9 {
		cold = append(cold, judge())
		enough := v.Ahead(t.Context())
		await.True(t, "two containers wait", func() bool { return len(waiting(p.Bare)) == 2 })
		ahead = append(ahead, judge())
		enough()
		await.True(t, "no container is left", func() bool { return len(waiting(p.Bare)) == 0 })
	}
	t.Log(ahead, cold)
	benchtest.Against("an empty criterion judged twice, in containers that were prepared", benchtest.Median(ahead), "in containers made for it", benchtest.Median(cold))
}
