package door

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/token"
)

// TestWatchersDoor: the watcher's door answers one user id, whatever the socket's mode,
// and what comes through is the watcher's, bound by its token.
func TestWatchersDoor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, test := range []struct {
		name string
		peer int
		want bool // an answer
	}{{"its user", os.Getuid(), true}, {"another", os.Getuid() + 1, false}} {
		f.openFor(Watcher, test.peer)
		conn := f.dial()
		conn.CloseWrite()
		if said := readAll(conn); strings.Contains(said, "report-status") != test.want {
			t.Errorf("%s: %q", test.name, said)
		}
	}
	f.openFor(Watcher, os.Getuid())
	if out, err := f.push("HEAD:refs/heads/w"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := f.read("ward/pre.env")
	_, rest, _ := strings.Cut("\n"+env, "\n"+token.IDVar+"=")
	id, _, _ := strings.Cut(rest, "\n")
	for _, want := range []string{
		token.PrincipalVar + "=" + Watcher, token.NameVar + "=" + Watcher,
		token.TokenVar + "=" + token.Bound([]byte(f.read(token.KeyFile)), id, Watcher, Watcher),
	} {
		if !strings.Contains("\n"+env, "\n"+want+"\n") {
			t.Errorf("the hook does not see %s:\n%s", want, env)
		}
	}
}

// openFor replaces the fixture's door by one for a principal and a user id.
func (f *fixture) openFor(principal string, peer int) {
	f.t.Helper()
	f.stop()
	f.open(Config{Bare: f.bare, Settings: testSettings(f.t), Log: zerolog.New(f.log), Principal: principal, Peer: func() int { return peer }})
}

// TestKnocksDoNotStarveTheWatcher: 500 clients that stay at the agent's door keep the next
// one through it waiting for its turn; through the watcher's own a push goes as if nobody
// had knocked.
func TestKnocksDoNotStarveTheWatcher(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *config.Config) { c.Door.Burst = 2 })
	agents := f.socket
	var open []net.Conn
	for range 500 {
		conn, err := net.Dial("unix", agents)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	f.queues()                                                                                                            // else this proves nothing
	f.open(Config{Bare: f.bare, Settings: testSettings(t), Log: zerolog.New(f.log), Principal: Watcher, Peer: os.Getuid}) // beside the agent's
	if out, err := f.push("HEAD:refs/heads/w"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, conn := range open {
		conn.Close()
	}
}
