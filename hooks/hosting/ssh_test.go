package hosting

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// needs says out loud what is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := lookIn(p); err != nil {
			t.Skipf("SKIPPED: %s is not installed (scripts/setup --hosting)", filepath.Base(p))
		}
	}
}

// lookIn finds a program, in the administrators' directories, too.
func lookIn(program string) (string, error) {
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/lib/git-core"} {
		if path := filepath.Join(dir, program); syscall.Access(path, 1) == nil {
			return path, nil
		}
	}
	return exec.LookPath(program)
}

// start starts a server of the test's own, in a group of its own that ends with
// the test.
func start(t *testing.T, a *account, dir string, line ...string) {
	t.Helper()
	vars, err := gittest.Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	path, err := lookIn(line[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, line[1:]...)
	cmd.Dir, cmd.Env = dir, vars
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a != nil {
		cmd.SysProcAttr.Credential = a.cred
	}
	log, err := os.Create(filepath.Join(dir, filepath.Base(line[0])+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		log.Close()
		if t.Failed() {
			data, _ := os.ReadFile(log.Name())
			t.Logf("%s said:\n%s", line[0], data[max(0, len(data)-4000):])
		}
	})
}

func listening(port int) func() bool {
	return func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	}
}

// sshServer is an sshd on the loopback interface, and its clients' keys.
type sshServer struct {
	t    *testing.T
	dir  string
	port int
	user *account // whose account everybody uses
}

func newSSH(t *testing.T, a *account) *sshServer {
	t.Helper()
	s := &sshServer{t, openDir(t), gittest.Port(t), a}
	must(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", s.path("host"))
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`Port %d
ListenAddress 127.0.0.1
HostKey %s
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
AuthorizedKeysFile .ssh/authorized_keys
AcceptEnv LANG LC_* GIT_PROTOCOL
LogLevel VERBOSE
`, s.port, s.path("host"))
	s.write("sshd_config", config)
	if err := os.MkdirAll(filepath.Join(a.home, ".ssh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(a.home, ".ssh"), int(a.cred.Uid), int(a.cred.Gid)); err != nil {
		t.Fatal(err)
	}
	start(t, nil, s.dir, "sshd", "-D", "-e", "-f", s.path("sshd_config"))
	await.True(t, "sshd", listening(s.port))
	return s
}

func (s *sshServer) path(name string) string { return filepath.Join(s.dir, name) }

func (s *sshServer) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// key makes a key and returns its public line.
func (s *sshServer) key(name string) string {
	s.t.Helper()
	must(s.t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", s.path(name))
	data, err := os.ReadFile(s.path(name) + ".pub")
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// authorize makes a key and lets it in with the options of authorized_keys(5).
func (s *sshServer) authorize(name, options string) {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.user.home, ".ssh/authorized_keys"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s\n", options, s.key(name))
}

func (s *sshServer) ssh(key string) string {
	return fmt.Sprintf("ssh -F none -q -p %d -i %s -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o SendEnv=LC_EVIL -o SendEnv=WARD_USER -o SendEnv=GL_USER",
		s.port, s.path(key))
}

// client runs a script as the holder of a key; $S is ssh, $U the account, $1 the
// address of the repository.
func (s *sshServer) client(key, path, script string, env ...string) (string, error) {
	s.t.Helper()
	vars, err := gittest.Environ(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	at := s.user.name + "@127.0.0.1"
	cmd := exec.Command("sh", "-c", "set -e; "+script, "sh", "ssh://"+at+path)
	cmd.Dir = s.t.TempDir()
	cmd.Env = append(append(vars, "GIT_SSH_COMMAND="+s.ssh(key), "S="+s.ssh(key)+" "+at), env...)
	return await.Output(s.t, cmd)
}

// pushScript clones, commits and pushes main to $REF.
const pushScript = `git clone -q "$1" w; cd w; date +%N%s >f; git add .; git commit -qm f; git push -q origin HEAD:"$REF"`

// Accounts of ssh, one for all keys: who pushes is what the key's forced command
// says, and nothing else that a client does.
func TestOpenSSH(t *testing.T) {
	tier.Full(t, "it makes users of this machine, or starts a server of git")
	needs(t, "sshd", "ssh", "ssh-keygen", "git-shell")
	_, users := newAccounts(t, "git")
	owner := users["git"]
	h := newHost(t)
	h.give(owner)
	s := newSSH(t, owner)
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	door := func(who string) string {
		return fmt.Sprintf(`restrict,command="%s/git-ward door --stdio --bare %s %s"`, bin, h.bare, who)
	}
	s.authorize("pat", door("--pm pat"))
	s.authorize("robo", door("--agent robo"))
	s.authorize("mo", door("--member mo"))
	s.authorize("anybody", `restrict,command="git-shell -c \"$SSH_ORIGINAL_COMMAND\""`)
	s.authorize("zoe", `restrict,command="WARD_USER=zoe git-shell -c \"$SSH_ORIGINAL_COMMAND\""`)

	// The path of the address is anything at all.
	for _, c := range []struct{ key, path, ref, want string }{
		{"pat", "/no/such/path", "main", "pm pat accepted main"},
		{"robo", h.bare, "agent/x", "agent robo accepted agent/x"},
		{"robo", "/", "main", "agent robo refused main"},
		{"mo", "/etc/passwd", "topic", "member mo accepted topic"},
		{"mo", "/x", "main", "member mo refused main"},
	} {
		out, err := s.client(c.key, c.path, pushScript, "REF="+c.ref, "LC_EVIL=x", "WARD_USER=pat", "GL_USER=pat", "WARD_NAME=pat", "WARD_PRINCIPAL=pm", "GIT_PROTOCOL=version=2")
		if got := h.last().String(); got != c.want || (err == nil) != strings.Contains(c.want, "accepted") {
			t.Errorf("%s: audit has %q, want %q: %v\n%s", c.key, got, c.want, err, out)
		}
	}

	// A client that asks for something else gets a refusal, and nothing of it runs.
	for _, command := range []string{
		"", "id", "sh", "git-receive-pack", "git-upload-archive '/x'", "git-receive-pack '/x'; id", "git-receive-pack '/x' '/y'",
		"git-receive-pack --stateless-rpc '/x'", "git receive-pack $(id)", "git-receive-pack `id`", "git-upload-pack --strict '/x'",
		"git-receive-pack '/x'\nid", "env git-receive-pack '/x'", "git -c core.hooksPath=/tmp receive-pack '/x'", "scp -t /tmp", "git-ward log",
	} {
		out, err := s.client("pat", "/x", `$S "$C" </dev/null`, "C="+command)
		if err == nil || !strings.Contains(out, "this key is for git clone, fetch and push") || strings.Contains(out, "uid=") {
			t.Errorf("%q: %v\n%s", command, err, out)
		}
	}

	// The same account without a door: whose push it is, nobody can say.
	for _, c := range []struct{ key, identity, want, out string }{
		{"anybody", ``, "unknown  refused main", `write from = "account"`},
		{"anybody", `from = "account"`, "pm " + owner.name + " accepted main", ""},
		{"anybody", "from = \"WARD_USER\"\npm = [\"zoe\"]", "unknown  refused main", "WARD_USER is not set"},
		{"zoe", "from = \"WARD_USER\"\npm = [\"zoe\"]", "pm zoe accepted main", ""},
		{"zoe", "from = \"WARD_USER\"\nmembers = [\"zoe\"]", "member zoe refused main", "a member may not push this ref"},
		{"zoe", "from = \"WARD_USER\"\npm = [\"pat\"]", "unknown zoe refused main", "on none of the lists"},
	} {
		h.identity(c.identity)
		out, err := s.client(c.key, h.bare, pushScript, "REF=main", "WARD_USER=zoe", "LC_EVIL=x")
		if got := h.last().String(); got != c.want || (err == nil) != strings.Contains(c.want, "accepted") || !strings.Contains(out, c.out) {
			t.Errorf("%s with %q: audit has %q, want %q: %v\n%s", c.key, c.identity, got, c.want, err, out)
		}
	}
	// A contradiction between door and settings.
	h.identity(`members = ["pat"]`)
	if out, err := s.client("pat", "/x", pushScript, "REF=main"); err == nil || !strings.Contains(out, "the door says that pat is pm, and [identity] says member") {
		t.Errorf("%v\n%s", err, out)
	}
	h.identity("")
	h.whole()
}
