package door

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/tier"
	"git-ward/internal/token"
)

// TestPush is the whole way: git in a clone, the connector, the door, the hooks.
func TestPush(t *testing.T) {
	t.Setenv("WARD_TEST_SECRET", "sk-not-for-hooks")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
	t.Setenv("GIT_CONFIG_VALUE_0", "/nonexistent")
	f := newFixture(t, nil)
	f.hook("pre-receive", "echo seen by the client >&2\n"+preReceive)
	out, err := f.push("HEAD:refs/heads/agent/x")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "remote: seen by the client") {
		t.Errorf("the hook's words did not arrive:\n%s", out)
	}
	if !f.hasRef("refs/heads/agent/x") {
		t.Error("the ref did not move")
	}
	env := map[string]string{}
	for line := range strings.Lines(f.read("ward/pre.env")) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	id := env["WARD_PUSH_ID"]
	if !regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{16}$`).MatchString(id) {
		t.Errorf("push id %q", id)
	}
	mac := hmac.New(sha256.New, []byte(f.read(token.KeyFile)))
	mac.Write([]byte(id))
	if want := hex.EncodeToString(mac.Sum(nil)); env["WARD_PUSH_TOKEN"] != want {
		t.Errorf("token %q, want %q", env["WARD_PUSH_TOKEN"], want)
	}
	allowed := regexp.MustCompile(`^(PATH|HOME|LC_ALL|TZ|TMPDIR|PWD|OLDPWD|SHLVL|_|GIT_\w+|WARD_PUSH_ID|WARD_PUSH_TOKEN)$`)
	for name, value := range env {
		if !allowed.MatchString(name) || strings.HasPrefix(name, "GIT_CONFIG_KEY") {
			t.Errorf("the hook sees %s=%s", name, value)
		}
	}
	f.clean()
	record := f.records(1)[0]
	if record["push"] != id || record["level"] != "info" {
		t.Errorf("log: %v", record)
	}
}

// TestLimits looks at the limits where they count: in a child of receive-pack.
func TestLimits(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, func(c *config.Config) {
		c.Limits.InputSize = 1 << 20
		c.Limits.Alloc = 12345678
	})
	if out, err := f.push("HEAD:refs/heads/x"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	limits := f.read("ward/pre.limits")
	for name, value := range map[string]string{"Max address space": "4294967296", "Max cpu time": "60", "Max file size": "2097152"} {
		if !regexp.MustCompile(name + ` +` + value + ` +` + value + ` `).MatchString(limits) {
			t.Errorf("%s is not %s:\n%s", name, value, limits)
		}
	}
	if !strings.Contains(f.read("ward/pre.env"), "GIT_ALLOC_LIMIT=12345678\n") {
		t.Error("GIT_ALLOC_LIMIT is missing")
	}
}

// TestNoChoice sends what other git servers would obey.
func TestNoChoice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	other := newBare(t)
	for _, words := range []string{
		"git-upload-pack '" + other + "'\x00host=x\x00",
		"git-receive-pack '" + other + "'\x00host=x\x00",
		"git-upload-archive '" + f.bare + "'\x00",
	} {
		conn := f.dial()
		fmt.Fprintf(conn, "%04x%s", len(words)+4, words)
		conn.CloseWrite()
		answer := readAll(conn)
		if !strings.Contains(answer, "report-status") {
			t.Errorf("%q: not receive-pack's greeting: %q", words, answer)
		}
	}
	// The path that git hands to the connector leads nowhere either.
	f.git(f.clone, "remote", "set-url", "origin", other)
	if out, err := f.push("HEAD:refs/heads/y"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !f.hasRef("refs/heads/y") || strings.Contains(run(t, other, "git", "for-each-ref"), "y") {
		t.Error("the push went to the other repository")
	}
	f.clean()
}

// TestRefusal: a hook that refuses is a refusal at the client.
func TestRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.hook("pre-receive", "echo error: no >&2; exit 1\n")
	out, err := f.push("HEAD:refs/heads/x")
	if err == nil || !strings.Contains(out, "error: no") || f.hasRef("refs/heads/x") {
		t.Errorf("%v\n%s", err, out)
	}
	f.clean()
}

// TestShutdown closes the door on a running push: it finishes.
func TestShutdown(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, nil)
	f.hook("pre-receive", "touch ward/started\n"+untilGo)
	pushed := make(chan string, 1)
	go func() {
		out, err := f.push("HEAD:refs/heads/x")
		pushed <- fmt.Sprint(err, "\n", out)
	}()
	await.True(t, "the hook runs", func() bool {
		_, err := os.Stat(filepath.Join(f.bare, "ward/started"))
		return err == nil
	})
	stopped := make(chan struct{})
	go func() {
		f.stop()
		close(stopped)
	}()
	await.True(t, "nobody comes in any more", func() bool {
		conn, err := net.Dial("unix", f.socket)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	f.letGo()
	await.Value(t, "the door's end", stopped)
	if result := <-pushed; !strings.HasPrefix(result, "<nil>") {
		t.Error(result)
	}
	if !f.hasRef("refs/heads/x") || f.read("ward/post.refs") == "" {
		t.Error("the push was cut off")
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(f.socket))); !os.IsNotExist(err) {
		t.Errorf("the socket's directory is still there: %v", err)
	}
}

// TestModes: nobody else gets in on the host, anybody does in the mount.
func TestModes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	inner := filepath.Dir(f.socket)
	for path, mode := range map[string]os.FileMode{filepath.Dir(inner): 0o700, inner: 0o755, f.socket: 0o666} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), mode)
		}
	}
}

// queues waits until somebody has the door's next turn, and cannot begin.
func (f *fixture) queues() {
	f.t.Helper()
	await.True(f.t, "somebody waits for his turn", func() bool { return len(f.door.line) == 1 })
}

// TestAtOnce: of six clients four are served, the fifth when one has left.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	greeted := make(chan net.Conn, 6)
	for range 6 {
		conn := f.dial()
		go func() {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				greeted <- conn
			}
		}()
	}
	first := <-greeted
	for range atOnce - 1 {
		<-greeted
	}
	f.queues()
	if len(greeted) > 0 {
		t.Error("a fifth push runs")
	}
	first.Close()
	<-greeted
}
