package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/token"
	"git-ward/sandbox/lab"
)

// TestMain lets the test binary play the connector that git starts in place of
// `git receive-pack`; in the product that is `ward-agent connect SOCKET`.
func TestMain(m *testing.M) {
	if socket := os.Getenv("DOOR_TEST_CONNECT"); socket != "" {
		lab.Connect(socket)
		return
	}
	if key := os.Getenv(keyVar); key != "" {
		stdioMain(key)
	}
	os.Exit(m.Run())
}

// fixture is a bare repository like one that `git ward init` makes, with shell
// scripts for hooks, an open door on it, and a clone with one commit.
type fixture struct {
	t      *testing.T
	bare   string
	clone  string
	socket string
	door   *Door
	log    *lab.Log
	stop   func() // closes the door and waits for Serve
}

// The default hooks write down what they see.
const (
	preReceive  = "#!/bin/sh\ncat >>ward/pre.refs\nenv >ward/pre.env\ncat /proc/self/limits >ward/pre.limits\n"
	postReceive = "#!/bin/sh\ncat >>ward/post.refs\n"
)

// newFixture opens a door; change may be nil.
func newFixture(t *testing.T, change func(*config.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, bare: newBare(t), log: new(lab.Log)}
	settings := testSettings(t)
	if change != nil {
		change(settings)
	}
	f.open(Config{Bare: f.bare, Settings: settings, Log: zerolog.New(f.log)})
	f.clone = filepath.Join(t.TempDir(), "clone")
	f.git("", "clone", "-q", f.bare, f.clone)
	f.commit("a", "one\n")
	return f
}

// open opens a door and serves it; stop closes it.
func (f *fixture) open(c Config) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	d, err := Listen(c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.door, f.socket = d, d.Socket()
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			f.t.Errorf("Serve: %v", err)
		}
	})
	f.t.Cleanup(f.stop)
}

func newBare(t *testing.T) string {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "repo.git")
	run(t, "", "git", "init", "-q", "--bare", "-b", "main", bare)
	for key, value := range map[string]string{
		"receive.fsckObjects": "true", "receive.autogc": "false",
		"receive.advertisePushOptions": "true", "core.logAllRefUpdates": "always",
	} {
		run(t, bare, "git", "config", key, value)
	}
	write(t, filepath.Join(bare, "hooks/pre-receive"), preReceive, 0o755)
	write(t, filepath.Join(bare, "hooks/post-receive"), postReceive, 0o755)
	write(t, filepath.Join(bare, token.KeyFile), strings.Repeat("k", 32), 0o600)
	return bare
}

func testSettings(t *testing.T) *config.Config {
	t.Helper()
	data, err := os.ReadFile("../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(data, "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// hook replaces a hook with a script.
func (f *fixture) hook(name, script string) {
	f.t.Helper()
	write(f.t, filepath.Join(f.bare, "hooks", name), "#!/bin/sh\n"+script, 0o755)
}

// untilGo has a hook wait until letGo.
const untilGo = "while [ ! -e ward/go ]; do sleep 0.05; done\n"

func (f *fixture) letGo() {
	f.t.Helper()
	write(f.t, filepath.Join(f.bare, "ward/go"), "", 0o644)
}

func (f *fixture) git(dir string, args ...string) string {
	f.t.Helper()
	return run(f.t, dir, "git", args...)
}

// commit makes a commit in the clone.
func (f *fixture) commit(name, text string) {
	f.t.Helper()
	write(f.t, filepath.Join(f.clone, name), text, 0o644)
	f.git(f.clone, "add", ".")
	f.git(f.clone, "commit", "-qm", "change "+name)
}

// push pushes from the clone through the door.
func (f *fixture) push(args ...string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	connector := fmt.Sprintf("env DOOR_TEST_CONNECT=%s %s", f.socket, self)
	cmd := command(f.clone, "git", append([]string{"-c", "remote.origin.receivepack=" + connector, "push", "origin"}, args...)...)
	return await.Output(f.t, cmd)
}

// pushed is the bytes of a push of the clone's HEAD to a new ref: the commands
// and the pack, as gitprotocol-pack(5) has them.
func (f *fixture) pushed(ref string) (commands, pack []byte) {
	f.t.Helper()
	head := strings.TrimSpace(f.git(f.clone, "rev-parse", "HEAD"))
	cmd := command(f.clone, "git", "pack-objects", "--revs", "--stdout", "-q")
	cmd.Stdin = strings.NewReader("HEAD\n")
	pack, err := cmd.Output()
	if err != nil {
		f.t.Fatal(err)
	}
	return updates(head, ref), pack
}

func updates(id, ref string) []byte {
	line := fmt.Sprintf("%040d %s %s\x00report-status side-band-64k", 0, id, ref)
	return fmt.Appendf(nil, "%04x%s0000", len(line)+4, line)
}

func (f *fixture) dial() *net.UnixConn {
	f.t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: f.socket, Net: "unix"})
	if err != nil {
		f.t.Fatal(err)
	}
	conn.SetDeadline(await.Deadline(f.t))
	f.t.Cleanup(func() { conn.Close() })
	return conn
}

// served is a connection whose turn has come: git has said its first byte.
func (f *fixture) served() *net.UnixConn {
	f.t.Helper()
	conn := f.dial()
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		f.t.Fatal(err)
	}
	return conn
}

// readAll is all that the door says until it closes; a reset counts as a close.
func readAll(conn net.Conn) string {
	data, _ := io.ReadAll(conn)
	return string(data)
}

// sentAway waits until the door closes the connection of a client that does not.
func (f *fixture) sentAway(conn net.Conn) {
	f.t.Helper()
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
		f.t.Error("the door never sends it away")
	}
}

// read is a file of the bare repository, "" when it is missing.
func (f *fixture) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(f.bare, name))
	return string(data)
}

func (f *fixture) hasRef(ref string) bool {
	return command(f.bare, "git", "rev-parse", "-q", "--verify", ref).Run() == nil
}

// clean demands a repository that is whole and holds nothing unfinished.
func (f *fixture) clean() {
	f.t.Helper()
	if out := f.git(f.bare, "fsck", "--full", "--strict", "--no-dangling", "--no-progress"); strings.TrimSpace(out) != "" && !strings.HasPrefix(out, "notice:") {
		f.t.Errorf("fsck: %s", out)
	}
	for _, pattern := range []string{"objects/tmp_*", "objects/*/tmp_*", "objects/incoming-*", "refs/heads/*.lock"} {
		if left, _ := filepath.Glob(filepath.Join(f.bare, pattern)); left != nil {
			f.t.Errorf("left over: %v", left)
		}
	}
}

// records waits for n log lines of pushes.
func (f *fixture) records(n int) []map[string]any {
	f.t.Helper()
	var lines []map[string]any
	await.True(f.t, fmt.Sprintf("%d log lines", n), func() bool {
		lines = nil
		for line := range strings.Lines(f.log.String()) {
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				f.t.Fatal(err)
			}
			if fields["message"] == "push" {
				lines = append(lines, fields)
			}
		}
		return len(lines) >= n
	})
	return lines
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := await.Output(t, command(dir, name, args...))
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	return cmd
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if mode == 0o755 {
		gittest.Program(t, path, text)
		return
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
