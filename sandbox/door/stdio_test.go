package door

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/tier"
	"git-ward/internal/token"
)

// A client's words choose between two services and nothing else.
func TestAsked(t *testing.T) {
	for command, want := range map[string]string{
		"git-receive-pack '/srv/x.git'": "receive-pack", "git receive-pack '/srv/x.git'": "receive-pack",
		"git-upload-pack 'x'": "upload-pack", "git upload-pack x.git": "upload-pack", "git-upload-pack '/a b; id'": "upload-pack",
		`git-upload-pack '/it'\''s'`: "upload-pack", `git-upload-pack '/a'\!'b'`: "upload-pack",
	} {
		if got, err := requestedService(command); err != nil || got != want {
			t.Errorf("%q: %q %v", command, got, err)
		}
	}
	for _, command := range []string{
		"", "git-receive-pack", "git-receive-pack ", "git-upload-archive 'x'", "git-receive-pack 'x' 'y'", "git-receive-pack 'x'; id", "git-receive-pack 'x", "git  receive-pack 'x'",
		" git-receive-pack 'x'", "git-receive-pack 'x' ", "git-receive-pack 'x'\n", "git-receive-pack 'x'\nid", "git-receive-pack 'x\ny'", "git-receive-pack $HOME", "git-receive-pack `id`",
		"git-receive-pack --help x", "git -c a=b receive-pack x", "GIT-RECEIVE-PACK 'x'", "id", "git-receive-pack \x00", "git-receive-pack '" + strings.Repeat("x", 5000) + "'",
		`git-receive-pack 'x'\'`, `git-receive-pack 'x'\;'y'`, "git-receive-pack 'x'y",
	} {
		if got, err := requestedService(command); err == nil || !strings.Contains(err.Error(), "this key is for git") {
			t.Errorf("%q: %q %v", command, got, err)
		}
	}
}

// over is the environment of a client whose ssh is the test binary, playing sshd's
// forced command for somebody's key.
func over(t *testing.T, bare, principal, name string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"GIT_SSH=" + self, "GIT_SSH_VARIANT=simple", "SSH_CONNECTION=x", keyVar + "=" + bare + " " + principal + " " + name}
}

// keyVar makes the test binary play the forced command: the repository, the
// principal and the name that authorized_keys would have.
const keyVar = "DOOR_TEST_KEY"

func (f *fixture) pushOver(env []string, ref string) (string, error) {
	cmd := command(f.clone, "git", "push", "-q", "ssh://host/any/path", "HEAD:"+ref)
	cmd.Env = append(cmd.Env, env...)
	return await.Output(f.t, cmd)
}

// config.toml is what the verb reads, and the fixture has not.
func (f *fixture) settle(burst, perMinute int) {
	data, err := os.ReadFile("../../config.toml")
	if err != nil {
		f.t.Fatal(err)
	}
	text := strings.Replace(string(data), "burst = 120", fmt.Sprint("burst = ", burst), 1)
	text = strings.Replace(text, "per_minute = 30", fmt.Sprint("per_minute = ", perMinute), 1)
	write(f.t, filepath.Join(f.bare, "ward/config.toml"), text, 0o644)
}

// TestStdio: a push through the forced command carries principal and name, bound by
// the token, and nothing of the session.
func TestStdio(t *testing.T) {
	t.Setenv("HTTP_AUTHORIZATION", "Basic secret")
	t.Setenv("WARD_NAME", "mallory")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
	t.Setenv("GIT_CONFIG_VALUE_0", "/nonexistent")
	f := newFixture(t, nil)
	f.settle(120, 30)
	for _, principal := range []string{"agent", "pm", "member"} {
		if out, err := f.pushOver(over(t, f.bare, principal, "pat"), "refs/heads/"+principal); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		env := map[string]string{}
		for line := range strings.Lines(f.read("ward/pre.env")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			env[name] = value
		}
		id := env[token.IDVar]
		if env[token.NameVar] != "pat" || env[token.PrincipalVar] != principal ||
			!token.Equal(env[token.TokenVar], token.Bound([]byte(f.read(token.KeyFile)), id, principal, "pat")) {
			t.Errorf("%v", env)
		}
		for name := range env {
			if strings.HasPrefix(name, "SSH_") || strings.HasPrefix(name, "HTTP_") || strings.HasPrefix(name, "GIT_CONFIG_KEY") {
				t.Errorf("the hook sees %s", name)
			}
		}
	}
	cmd := command(t.TempDir(), "git", "clone", "-q", "ssh://host/x", "w")
	cmd.Env = append(cmd.Env, over(t, f.bare, "agent", "robo")...)
	if out, err := await.Output(t, cmd); err != nil {
		t.Errorf("clone: %v\n%s", err, out)
	}
	if log := f.read("ward/door.log"); !strings.Contains(log, `"principal":"member","name":"pat"`) || !strings.Contains(log, `"verb":"upload-pack"`) {
		t.Error(log)
	}
	f.clean()
}

// TestStdioWithoutHooks: no push is let in unjudged, and none into another place.
func TestStdioWithoutHooks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.settle(120, 30)
	refused := func(bare, want string) {
		t.Helper()
		if out, err := f.pushOver(over(t, bare, "pm", "pat"), "refs/heads/x"); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", bare, err, out)
		}
	}
	refused("/nonexistent", "no such file")
	refused(f.bare+"/hooks", "")
	os.Remove(filepath.Join(f.bare, "hooks/pre-receive"))
	refused(f.bare, "pre-receive does not run")
	if f.hasRef("refs/heads/x") {
		t.Error("a push came in")
	}
}

// TestOneBucketForAName: each connection is a process, and all of a name share the
// bucket and its slots; another name has its own.
func TestOneBucketForAName(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, nil)
	f.settle(2, 120)
	f.hook("pre-receive", "sleep 0.3\n")
	began := time.Now()
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() {
			if out, err := f.pushOver(over(t, f.bare, "agent", "robo"), fmt.Sprint("refs/heads/r", i)); err != nil {
				t.Errorf("a client was refused: %v\n%s", err, out)
			}
		})
	}
	clients.Wait()
	if took := time.Since(began); took < 1900*time.Millisecond {
		t.Errorf("6 pushes, 2 at once and 2 a second, took %v: less than 2s", took)
	}
	other := &shared{dir: filepath.Join(f.bare, "ward/door"), name: "receive-pack-agent-other", settings: doorSettings(t, 2, 120)}
	if wait, err := other.takeConnection(); err != nil || wait > 0 {
		t.Errorf("another name waits %v: %v", wait, err)
	}
}

func doorSettings(t *testing.T, burst, perMinute int) *config.Config {
	c := testSettings(t)
	c.Door.Burst, c.Door.PerMinute = burst, perMinute
	return c
}

// TestSlots: more than four of a name do not run at once, more than 64 do not wait,
// and a bucket that holds noise is an empty one, not a way in.
func TestSlots(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, nil)
	s, err := newShared(&service{bare: f.bare, verb: "receive-pack", principal: "pm", turn: "pat", settings: doorSettings(t, 1000, 1000)})
	if err != nil {
		t.Fatal(err)
	}
	stays := func() bool { return false }
	for range atOnce {
		slot, err := s.turn(t.Context(), stays)
		if err != nil {
			t.Fatal(err)
		}
		defer slot.Close()
	}
	if _, err := s.turn(t.Context(), func() bool { return true }); err == nil {
		t.Error("a fifth runs")
	}
	for range maxOpen {
		// What another test forks holds a lock that was given back, until it is another program.
		await.True(t, "a place to wait", func() bool {
			f, err := s.hold("wait", maxOpen)
			if err != nil && !errors.Is(err, errBusy) {
				t.Fatal(err)
			}
			if err == nil {
				t.Cleanup(func() { f.Close() })
			}
			return err == nil
		})
	}
	if _, err := s.turn(t.Context(), stays); err == nil || !strings.Contains(err.Error(), "64 connections of this name wait already") {
		t.Error(err)
	}
	s.settings = doorSettings(t, 10, 1)
	for _, noise := range []string{"x", "+1e999 1\n", "NaN 0\n", "+99999999 99999999999999999999999\n", strings.Repeat("9", 100)} {
		write(t, filepath.Join(s.dir, s.name+".bucket"), noise, 0o600)
		if wait, err := s.takeConnection(); err != nil || wait > 2*time.Minute {
			t.Errorf("%q: %v %v", noise, wait, err)
		}
		for range 30 {
			s.takeConnection()
		}
		if wait, err := s.takeConnection(); err != nil || wait < 5*time.Second {
			t.Errorf("%q: after 30 more only %v: %v", noise, wait, err)
		}
	}
}

// TestKilledDoor: a door that is killed gives its slot back, but not before its git
// has ended; nothing has to be mended by hand.
func TestKilledDoor(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	f := newFixture(t, nil)
	f.settle(120, 30)
	f.hook("pre-receive", "mkdir -p ward/inside; touch ward/inside/$$; while [ ! -e ward/go ]; do sleep 0.05; done\n")
	var doors []*exec.Cmd
	self, _ := os.Executable()
	for i := range atOnce {
		commands, pack := f.pushed(fmt.Sprint("refs/heads/k", i))
		cmd := exec.Command(self, "host", "git-receive-pack '/x'")
		cmd.Env = append(command("", "true").Env, over(t, f.bare, "agent", "robo")...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in.Write(append(commands, pack...))
		doors = append(doors, cmd)
	}
	s := &shared{dir: filepath.Join(f.bare, "ward/door"), name: "receive-pack-agent-robo"}
	taken := func() bool {
		slot, err := s.hold("slot", atOnce)
		if err == nil {
			slot.Close()
		}
		return err != nil
	}
	await.True(t, "all slots are taken", taken)
	await.True(t, "all hooks run", func() bool {
		inside, _ := os.ReadDir(filepath.Join(f.bare, "ward/inside"))
		return len(inside) == atOnce
	})
	for _, d := range doors {
		d.Process.Signal(syscall.SIGKILL)
		d.Wait()
	}
	if !taken() {
		t.Error("git still runs, and its slot is free")
	}
	write(t, filepath.Join(f.bare, "ward/go"), "", 0o644)
	await.True(t, "the slots are free again", func() bool { return !taken() })
	if out, err := f.pushOver(over(t, f.bare, "agent", "robo"), "refs/heads/after"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// stdioMain is the test binary as ssh and sshd's forced command in one: its arguments
// are a host and what the client asks for.
func stdioMain(key string) {
	words := strings.Fields(key)
	s := &Session{Bare: words[0], Principal: words[1], Name: words[2], Command: os.Args[2], Protocol: os.Getenv("GIT_PROTOCOL"), Stderr: os.Stderr}
	code, err := s.Serve(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 2
	}
	os.Exit(code)
}
