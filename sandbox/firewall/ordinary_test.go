package firewall

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// nobody is an ordinary user of no name.
const nobody = 54321

// wish is what the ordinary user's process is told to do, and told is its
// answer.
type wish struct {
	Policy Policy
	Child  string
}

type told struct {
	Err  string // of once
	Left string // what a later look finds wrong
}

// ordinary is the launcher of an ordinary user: it starts a process in new user
// and network namespaces, as a rootless container has, and fences it.
func ordinary(stdin io.Reader, stdout io.Writer) error {
	var w wish
	if err := json.NewDecoder(stdin).Decode(&w); err != nil {
		return err
	}
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	ctx := context.Background()
	var answer told
	target := Target{NetNS: fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid), Child: strings.Fields(w.Child)}
	err := once(ctx, w.Policy, target)
	if err == nil {
		err = once(ctx, w.Policy, target) // and once more in its place
	}
	if err != nil {
		answer.Err = err.Error()
	} else if err := left(ctx, target, w.Policy); err != nil {
		answer.Left = err.Error()
	}
	return json.NewEncoder(stdout).Encode(answer)
}

// left says how a target's rules differ from a policy.
func left(ctx context.Context, target Target, p Policy) error {
	ns, err := target.open()
	if err != nil {
		return err
	}
	defer ns.Close()
	r, err := target.run(ctx, ns, nil, nothing)
	if err != nil {
		return err
	}
	return Compare(p, r)
}

func asOrdinary(t *testing.T, w wish) (answer told) {
	t.Helper()
	// The test binary lies in a directory of root's.
	dir, err := os.MkdirTemp("", "ward-fw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "test")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, binary, string(self))
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "ordinary")
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	lab.Begin(t, cmd).Ask(w, &answer)
	return answer
}

func TestOrdinaryUser(t *testing.T) {
	tier.First(t, "it makes network namespaces")
	needRoot(t)
	if out, err := exec.Command("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "unshare", "-Un", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: ordinary users have no user namespaces here: %v: %s", err, out)
	}
	for _, p := range []Policy{public(), {Mode: Allowlist}} {
		if got := asOrdinary(t, wish{p, "firewall-child"}); got != (told{}) {
			t.Errorf("%s: %+v", p.Mode, got)
		}
	}
	for child, want := range map[string]string{
		"":             "none is set",
		"mute-child":   "gave no answer",
		"-no-such":     "inside the container's namespaces",
		"lying-child":  "not what was asked for",
		"closed-child": "not what was asked for",
	} {
		if got := asOrdinary(t, wish{public(), child}); !strings.Contains(got.Err, want) {
			t.Errorf("child %q: %+v, want %q", child, got, want)
		}
	}
}

// A child that was not taken into another namespace touches nothing.
func TestChildStaysOffTheHost(t *testing.T) {
	own, err := ownNetNS()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{
		"", "{}", "nonsense", `{"outside": "` + own + `"}`,
		`{"policy": {"mode": "public"}, "outside": "` + own + `"}`,
		`{"policy": {"mode": "public"}}`, `{"policy": {"mode": "allowlist"}, "outside": "1:1"}`, `{"extent": "whole", "outside": "1:1"}`,
		`{"policy": {"mode": "public", "more": 1}, "outside": "1:1"}`,
		`{"policy": {"mode": "open"}, "extent": "whole", "outside": "1:1"}`,
	} {
		var out strings.Builder
		if err := Child(t.Context(), strings.NewReader(in), &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, %s", in, err, out.String())
		}
	}
}
