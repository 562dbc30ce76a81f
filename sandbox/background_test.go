package sandbox

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// TestDetached runs the real binaries: a launcher in the background is seen,
// read, refused a second time, and stopped with everything of it.
func TestDetached(t *testing.T) {
	slow(t)
	p := gittest.New(t)
	dir := filepath.Dir(p.Bare)
	ward := func(want string, args ...string) {
		t.Helper()
		out, _ := p.Try(dir, nil, "", "git-ward", args...)
		if !strings.Contains(out, want) {
			t.Errorf("git ward %v: want %q in:\n%s", args, want, out)
		}
	}
	launch := []string{"launch", "--bare", p.Bare, "--unfenced", "--state", filepath.Join(dir, "state")}
	ward("nothing runs", "status", "--bare", p.Bare)
	ward("there is no log", "launch", "logs", "--bare", p.Bare)
	ward("launched as process", append(launch, "--detach")...)
	t.Cleanup(func() { p.Try(dir, nil, "", "git-ward", "launch", "stop", "--bare", p.Bare) })
	ward("runs on", "status", "--bare", p.Bare)
	ward(`"running":true`, "status", "--json", "--bare", p.Bare)
	ward("another launcher", append(launch, "--once")...)
	ward("unfenced: the agent runs as you", "launch", "logs", "--bare", p.Bare)
	ward("ended", "launch", "stop", "--bare", p.Bare)
	ward("nothing runs", "status", "--bare", p.Bare)
	ward("nothing runs", "launch", "stop", "--bare", p.Bare)

	ward("the model \"none\" needs the fence", append(launch, "--detach", "--model", "none")...)
}
