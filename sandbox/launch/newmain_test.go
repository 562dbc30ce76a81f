package launch

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/runstate"
	"git-ward/internal/scratch"
	"git-ward/internal/tier"
)

// TestSuiteOnMain: the suite runs once on each tip of the project's branch, and where it
// fails people are told (LOOP-12).
func TestSuiteOnMain(t *testing.T) {
	tier.First(t, "it waits for looks at a branch")
	t.Parallel()
	dir := t.TempDir()
	bare := filepath.Join(dir, "bare.git")
	run := func(script string) {
		t.Helper()
		c := exec.Command("sh", "-c", "set -e\n"+script)
		c.Dir = dir
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	run("git init -q --bare -b main bare.git; mkdir bare.git/ward; git clone -q bare.git w 2>/dev/null; cd w; echo 1 >n; git add n; git commit -qm 1; git push -q origin HEAD:main")
	settings := config.Default()
	settings.Verify.Suite = "echo ran >>" + dir + "/ran; test $(cat n) = 1"
	var said bytes.Buffer
	own, err := scratch.Make(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	l := newLaunch(Spec{Bare: bare, Settings: settings, Unfenced: true, Messages: &said})
	l.log, l.scratch = zerolog.Nop(), own
	follow := func(until func(runstate.Suite) bool) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.followMain(ctx) }()
		await.True(t, "the suite runs", func() bool {
			s, ok := runstate.LastSuite(bare)
			return ok && until(s)
		})
		cancel()
		<-done
	}
	follow(func(s runstate.Suite) bool { return s.OK })
	run("cd w; echo 2 >n; git commit -qam 2; git push -q origin HEAD:main")
	follow(func(s runstate.Suite) bool { return !s.OK })
	follow(func(s runstate.Suite) bool { return !s.OK }) // another launch, the same tip
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(ran) != "ran\nran\n" {
		t.Errorf("%q %v", ran, err)
	}
	if !strings.HasPrefix(said.String(), "warning: the suite does not pass on ") {
		t.Error(said.String())
	}
}
