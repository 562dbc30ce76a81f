package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/door/keys"
	"git-ward/sandbox/lab"
)

// machines is a repository with directives, its launcher, and an sshd by which a launcher of
// another machine works on it.
type machines struct {
	*gittest.Pair
	t    *testing.T
	dir  string
	bin  string
	port int
	n    int
}

func newMachines(t *testing.T, n int) *machines {
	t.Helper()
	if syscall.Access("/usr/sbin/sshd", 1) != nil {
		t.Skip("SKIPPED: sshd is not installed (scripts/setup --hosting)")
	}
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "mach")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &machines{Pair: gittest.New(t), t: t, dir: dir, bin: bin, n: n}
	var comms, lines strings.Builder
	for i := range n {
		fmt.Fprintf(&comms, "### D-%d: a file of its own\n\n- [ ] it is there (`test -s f%d`)\n- work: f%[1]d\n\n", i+1, i+1)
		fmt.Fprintf(&lines, `{"directive":"D-%d","iteration":0,"text":"It is written.","calls":[{"name":"bash","args":{"command":"sleep 3; echo done > f%d"}}]}`+"\n", i+1, i+1)
		fmt.Fprintf(&lines, `{"directive":"D-%d","text":"Nothing else was touched."}`+"\n", i+1)
	}
	m.Write("script.jsonl", lines.String())
	m.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+comms.String()+"## Reports\n")
	m.Git("add", ".")
	m.Git("commit", "--quiet", "--message", "directives")
	if out, err := m.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	m.sshd()
	return m
}

func (m *machines) path(name string) string { return filepath.Join(m.dir, name) }

// sshd lets the launcher's own keys in, and this one of the other machine. By SHLVL a bash
// that sshd starts takes itself for an inner one, and does not read its user's ~/.bashrc.
func (m *machines) sshd() {
	m.t.Helper()
	m.port = gittest.Port(m.t)
	for _, name := range []string{"host", "key"} {
		m.Run(m.dir, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", m.path(name))
	}
	host, _ := os.ReadFile(m.path("host.pub"))
	public, _ := os.ReadFile(m.path("key.pub"))
	for name, text := range map[string]string{
		"known_hosts":     fmt.Sprintf("[127.0.0.1]:%d %s", m.port, host),
		"authorized_keys": fmt.Sprintf(`restrict,command="%s/git-ward door --stdio --bare %s --hand farm" %s`, m.bin, m.Bare, public),
		"sshd_config": fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nAuthorizedKeysFile %s %s\nAcceptEnv GIT_PROTOCOL\nSetEnv SHLVL=2\nMaxStartups 100\n",
			m.port, m.path("host"), m.path("authorized_keys"), filepath.Join(m.Bare, keys.Path)),
	} {
		if err := os.WriteFile(m.path(name), []byte(text), 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	os.MkdirAll("/run/sshd", 0o755)
	m.begin("sshd", "/usr/sbin/sshd", "-D", "-e", "-f", m.path("sshd_config"))
	await.True(m.t, "sshd answers", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", m.port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// begin starts a program that runs until the test ends, or kill is called.
func (m *machines) begin(what string, line ...string) (kill func()) {
	m.t.Helper()
	cmd := m.Command(m.Work, nil, line[0], line[1:]...)
	log := new(lab.Log)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Wait()
		}
	}
	m.t.Cleanup(func() {
		kill()
		if m.t.Failed() {
			m.t.Logf("%s said:\n%s", what, log)
		}
	})
	return kill
}

func (m *machines) local() (kill func()) {
	return m.begin("the gate's launcher", "git-ward", "launch", "--unfenced", "--bare", m.Bare, "--model", "script", "--agents", "2", "--state", m.path("local"))
}

func (m *machines) away(name string) (kill func()) {
	return m.begin("the other machine's launcher", m.awayLine(name)...)
}

func (m *machines) awayLine(name string) []string {
	m.t.Helper()
	me, err := user.Current()
	if err != nil {
		m.t.Fatal(err)
	}
	return []string{"git-ward", "launch", "--unfenced", "--gate", fmt.Sprintf("ssh://%s@127.0.0.1:%d/x", me.Username, m.port),
		"--key", m.path("key"), "--known-hosts", m.path("known_hosts"), "--agents", "2", "--state", m.path(name)}
}

// done waits until every directive has ended, and proves that each did once.
func (m *machines) done() {
	m.t.Helper()
	var out string
	defer func() {
		if m.t.Failed() {
			m.t.Logf("%s\n%s", out, m.Run(m.Bare, "git", "for-each-ref", "refs/ward"))
		}
	}()
	await.True(m.t, "every directive has ended", func() bool {
		out, _ = m.Try(m.Bare, nil, "", "git", "show", "main:COMMS.md")
		return strings.Count(out, " EXIT_CONVERGED\n") >= m.n
	})
	await.True(m.t, "the leases are given back", func() bool {
		return m.Run(m.Bare, "git", "for-each-ref", "refs/ward/lease") == ""
	})
	eachOnce(m.t, m.Pair, m.n)
	m.Fsck()
}

// TestTwoMachines: the gate's launcher and one on another machine take six directives to
// their ends, each once, and both have a part in it.
func TestTwoMachines(t *testing.T) {
	tier.Full(t, "an sshd and two launchers, with directives of seconds")
	t.Parallel()
	m := newMachines(t, 6)
	m.local()
	m.away("farm")
	m.done()
	line := m.awayLine("farm")
	if out, err := m.Try(m.Bare, nil, "", line[0], line[1:]...); err == nil || !strings.Contains(out, "another launch works in "+m.path("farm")) {
		t.Errorf("two launches of one machine and gate: %v\n%s", err, out)
	}
	log := m.Run(m.Bare, "cat", filepath.Join(m.Bare, "ward/door.log"))
	if !strings.Contains(log, `"verb":"receive-pack","principal":"agent","name":"D-`) {
		t.Error("nothing came in over ssh")
	}
	m.keysTaken()
}

// keysTaken waits until no key of a lease is let in: a lease is given back by the agent, its key by
// the gate when the agent has ended, or by the next launch.
func (m *machines) keysTaken() {
	m.t.Helper()
	await.True(m.t, "the keys are taken back", func() bool {
		keys, err := os.ReadFile(filepath.Join(m.Bare, keys.Path))
		return err == nil && !strings.Contains(string(keys), "ssh-ed25519")
	})
}

// TestMachineKilled: kill -9 of the other machine's launcher, and then of the gate's, with
// all that they run; what they were at is gone on with, and nothing is done twice.
func TestMachineKilled(t *testing.T) {
	tier.Full(t, "an sshd and launchers that are killed, with directives of seconds")
	t.Parallel()
	m := newMachines(t, 6)
	gate := m.local()
	kill := m.away("farm")
	held := func() bool {
		return strings.Count(m.Run(m.Bare, "git", "for-each-ref", "refs/ward/lease"), "\n") >= 3
	}
	await.True(t, "both work", held)
	kill()
	m.away("other")
	await.True(t, "both work again", held)
	gate()
	m.local()
	m.done()
	m.keysTaken()
}
