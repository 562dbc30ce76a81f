package hosting

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/flock"
	"git-ward/internal/gittest"
)

// trusting is a configuration of git that trusts others' repositories: the tests
// look into those of the users that they make.
var trusting string

func TestMain(m *testing.M) {
	if socket := os.Getenv(shimVar); socket != "" {
		os.Exit(shim(socket))
	}
	dir, err := os.MkdirTemp("", "ward-trust-")
	if err == nil {
		trusting = filepath.Join(dir, "gitconfig")
		err = os.WriteFile(trusting, []byte("[safe]\n\tdirectory = *\n"), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	os.RemoveAll(dir)
	gittest.Clean()
	os.Exit(code)
}

// account is a user of this machine that a test has made.
type account struct {
	name string
	home string
	cred *syscall.Credential
}

// made counts the calls of newAccounts, whose names must differ.
var made rune

// newAccounts makes users, with homes of their own, in a group of theirs; the
// machine is left as it was. It needs root, and says so where it has not.
func newAccounts(t *testing.T, names ...string) (group string, all map[string]*account) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can make the users of this test")
	}
	if err := unix.Access("/etc", unix.W_OK); err != nil {
		t.Skip("SKIPPED: the users of this test cannot be written down: /etc: ", err)
	}
	for _, program := range []string{"useradd", "userdel", "groupadd", "groupdel", "usermod"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed (apt-get install passwd)", program)
		}
	}
	// Other test packages make users, too, and useradd does not wait for long.
	lock, err := flock.Dir("/etc")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	sweepAccounts(t)
	made++
	prefix := fmt.Sprintf("wardtest%d%c", os.Getpid(), 'a'+made)
	group, all = prefix+"g", map[string]*account{}
	must(t, "groupadd", group)
	t.Cleanup(func() { exec.Command("groupdel", group).Run() })
	for _, name := range names {
		full := prefix + name
		home := filepath.Join(openDir(t), "home")
		must(t, "useradd", "-M", "-d", home, "-s", "/bin/sh", "-p", "*", full)
		t.Cleanup(func() { removeUser(t, full) })
		u, err := user.Lookup(full)
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Mkdir(home, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(home, uid, gid); err != nil {
			t.Fatal(err)
		}
		all[name] = &account{full, home, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	return group, all
}

// sweepAccounts removes the users and groups of tests that were killed: the number in
// their names is of a process that is gone.
func sweepAccounts(t *testing.T) {
	t.Helper()
	gone := func(path string) (names []string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testAccount.FindAllStringSubmatch(string(data), -1) {
			if pid, err := strconv.Atoi(m[2]); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				names = append(names, m[1])
			}
		}
		return names
	}
	for _, name := range gone("/etc/passwd") {
		removeUser(t, name)
	}
	for _, name := range gone("/etc/group") {
		must(t, "groupdel", name)
	}
}

// removeUser removes a test's user with what runs as it, such as the process with
// which podman keeps a user's namespaces: userdel(8) refuses while there is one.
func removeUser(t *testing.T, name string) {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Error(err)
		return
	}
	// A killed process stays until it is reaped, by somebody who tells nobody.
	await.True(t, "nothing runs as "+name, func() bool {
		processes, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for _, dir := range processes {
			info, err := os.Stat(dir)
			if err != nil || strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Uid)) != u.Uid {
				continue // it is gone, or another's
			}
			left++
			if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return left == 0
	})
	must(t, "userdel", name)
}

// testAccount is an account of newAccounts', in passwd(5) or group(5).
var testAccount = regexp.MustCompile(`(?m)^(wardtest([0-9]+)[a-z]+):`)

// join puts a user into a group, for processes to come.
func (a *account) join(t *testing.T, group string) {
	t.Helper()
	must(t, "usermod", "-aG", group, a.name)
	g, err := user.LookupGroup(group)
	if err != nil {
		t.Fatal(err)
	}
	gid, _ := strconv.Atoi(g.Gid)
	a.cred.Groups = append(a.cred.Groups, uint32(gid))
}

// run runs a command line as the user, in the user's home.
func (a *account) run(t *testing.T, env []string, line ...string) (string, error) {
	t.Helper()
	vars, err := gittest.Environ(a.home)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(a.home, ".gitconfig")
	line = inBin(line)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = a.home, append(append(vars, "GIT_CONFIG_GLOBAL="+config, "TMPDIR=/tmp"), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.cred}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// inBin finds git-ward where the tests have built it.
func inBin(line []string) []string {
	if bin, err := gittest.Bin(); err == nil && line[0] == "git-ward" {
		line[0] = filepath.Join(bin, line[0])
	}
	return line
}

// must runs a command as we are.
func must(t *testing.T, line ...string) string {
	t.Helper()
	vars, err := gittest.Environ("/nonexistent")
	if err != nil {
		t.Fatal(err)
	}
	line = inBin(line)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(vars, "GIT_CONFIG_GLOBAL="+trusting)
	out, err := await.Output(t, cmd)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(line, " "), err, out)
	}
	return string(out)
}

// openDir is a temporary directory that every user can enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ward-host-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// host is a guarded repository in a place that every user can reach.
type host struct {
	t    *testing.T
	dir  string
	bare string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir := openDir(t)
	h := &host{t, dir, filepath.Join(dir, "repo.git")}
	must(t, "git-ward", "init", "--bare", h.bare)
	return h
}

// identity replaces the settings under [identity].
func (h *host) identity(lines string) {
	h.t.Helper()
	path := filepath.Join(h.bare, "ward/config.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "[rights]")
	if err := os.WriteFile(path, []byte("[identity]\n"+lines+"\n[rights]"+rest), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// give makes a user the owner of everything.
func (h *host) give(a *account) {
	h.t.Helper()
	must(h.t, "chown", "-R", fmt.Sprintf("%d:%d", a.cred.Uid, a.cred.Gid), h.bare)
}

// record is what the tests read of an audit record.
type record struct {
	Principal, Name, Verdict, User string
	Rules                          []string
	Refs                           []struct{ Ref string }
}

func (r record) String() string {
	ref := ""
	if len(r.Refs) > 0 {
		ref = strings.TrimPrefix(r.Refs[0].Ref, "refs/heads/")
	}
	return fmt.Sprintf("%s %s %s %s", r.Principal, r.Name, r.Verdict, ref)
}

// last is the newest record of the audit.
func (h *host) last() record {
	h.t.Helper()
	out := must(h.t, "git-ward", "log", "--json", "-n", "1", h.bare)
	var r record
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// whole demands what every test must leave: a repository and an audit without a
// finding.
func (h *host) whole() {
	h.t.Helper()
	must(h.t, "git", "--git-dir="+h.bare, "fsck", "--strict", "--no-dangling")
	must(h.t, "git-ward", "fsck", h.bare)
}
