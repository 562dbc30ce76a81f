package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// leftOpen is all that a fence of Ward's leaves open of lab.Calls: what ordinary
// programs live by, and what a filter's own makers use.
var leftOpen = []string{
	"landlock", "seccomp notify", // with which programs lock themselves in
	"ptrace", "process_vm_readv", "process_vm_writev", "process_mrelease", // debuggers, among the agent's own processes
	"mbind", "set_mempolicy", "clock_adjtime", "name_to_handle_at", // ask for what concerns nobody else
	"mknod device", // asks for a file that is not there; a real device needs a right that nobody has
	"socket tcp", "socket mptcp", "socket udp", "socket tcp6", "socket udp6", "socket unix", "socket netlink route",
}

// TestPeers makes the same calls and sockets in Ward's fence, in two sandboxes for coding
// agents from the npm registry, each as it comes, and in none at all. What Ward leaves
// open is a list, and no peer leaves less open.
func TestPeers(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	bin := filepath.Join(t.TempDir(), "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "/proc/self/exe", filepath.Join(bin, "calls"))
	forOthers(t, bin)
	m.set(`programs = "` + filepath.Dir(bin) + `"`)
	out, err := m.in("", "calls call")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ward := answers(t, out)
	for _, c := range lab.Calls {
		if ward[c.Name] == lab.Open && !slices.Contains(leftOpen, c.Name) {
			t.Errorf("%s is open", c.Name)
		}
	}
	table := []row{{"Ward, rootful, runc", ward}}
	for _, peer := range peers(t) {
		if peer.err != nil {
			t.Logf("SKIPPED: %s: %v", peer.name, peer.err)
			continue
		}
		got := answers(t, peer.out)
		table = append(table, row{peer.name, got})
		if a, b := count(ward, lab.Open), count(got, lab.Open); a > b {
			t.Errorf("Ward leaves %d open, %s %d", a, peer.name, b)
		}
	}
	t.Log(render(table))
}

// peer is a sandbox and what the calls came to in it.
type peer struct {
	name, out string
	err       error
}

// peers runs the calls as an ordinary user in each.
func peers(t *testing.T) (all []peer) {
	user := lab.OrdinaryUser(t)
	// Not below /tmp, which one peer does not want and the other shuts.
	home, err := os.MkdirTemp("/var/tmp", "ward-peers-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	calls := filepath.Join(home, "calls")
	copyFile(t, "/proc/self/exe", calls)
	settings := filepath.Join(home, "srt.json")
	const text = `{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}`
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	forOthers(t, home)
	uid, _ := strconv.Atoi(user.Uid)
	for _, dir := range []string{"work", ".codex"} {
		if err := errors.Join(os.Mkdir(filepath.Join(home, dir), 0o755), os.Chown(filepath.Join(home, dir), uid, -1)); err != nil {
			t.Fatal(err)
		}
	}
	runtime, codex := modeltest.Install(t, "@anthropic-ai/sandbox-runtime"), modeltest.Install(t, "@openai/codex")
	for _, p := range []struct {
		name string
		args []string
	}{
		{"@anthropic-ai/sandbox-runtime 0.0.83", []string{runtime + "/node_modules/.bin/srt", "-s", settings, calls, "call"}},
		{"@openai/codex 0.171.0 sandbox", []string{codex + "/node_modules/.bin/codex", "sandbox", "--", calls, "call"}},
		{"no sandbox", []string{calls, "call"}},
	} {
		cmd := exec.Command("setpriv", append([]string{"--reuid", user.Uid, "--regid", user.Gid, "--clear-groups", "--"}, p.args...)...)
		cmd.Dir, cmd.Env = filepath.Join(home, "work"), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		all = append(all, peer{p.name, string(out), err})
	}
	return all
}

// answers reads MakeCalls's lines, of which there must be one for each call.
func answers(t *testing.T, out string) map[string]lab.Answer {
	t.Helper()
	got := map[string]lab.Answer{}
	for line := range strings.Lines(out) {
		if word, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			got[name] = lab.Answer(word)
		}
	}
	for _, c := range lab.Calls {
		if got[c.Name] == "" {
			t.Fatalf("no answer for %q in\n%s", c.Name, out)
		}
	}
	return got
}

type row struct {
	name string
	got  map[string]lab.Answer
}

func count(got map[string]lab.Answer, want lab.Answer) (n int) {
	for _, c := range lab.Calls {
		if got[c.Name] == want {
			n++
		}
	}
	return n
}

// render is the table as the threat model shows it.
func render(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls and sockets\n", len(lab.Calls))
	for _, r := range rows {
		byClass := map[string]int{}
		var open []string
		for _, c := range lab.Calls {
			if r.got[c.Name] == lab.Open {
				byClass[c.Class]++
				open = append(open, c.Name)
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d |", r.name, count(r.got, lab.Refused), count(r.got, lab.Missing), count(r.got, lab.Open))
		for _, class := range []string{"namespaces and mounts", "the kernel", "other processes", "keys, clocks, names", "sockets"} {
			fmt.Fprintf(&b, " %d |", byClass[class])
		}
		fmt.Fprintf(&b, "\n  open: %s\n", strings.Join(open, ", "))
	}
	return b.String()
}

// forOthers lets other users look at a directory of the test's.
func forOthers(t *testing.T, dir string) {
	t.Helper()
	for ; dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil && info.Mode()&0o005 != 0o005 {
			err = os.Chmod(dir, info.Mode()|0o005)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// copyFile copies a program, because a link to it lies where nobody else may look.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, to, string(data))
}
