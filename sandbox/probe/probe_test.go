package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// held tries one attempt.
func held(t *testing.T, try func(context.Context, *Surroundings) (bool, string), s *Surroundings) bool {
	t.Helper()
	ok, detail := try(t.Context(), s)
	t.Logf("%v: %s", ok, detail)
	return ok
}

// A refusal is one of the errors that a fence gives, and it comes at once.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		err  error
		took time.Duration
		held bool
	}{
		{syscall.ECONNREFUSED, time.Millisecond, true},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}, time.Millisecond, true},
		{syscall.EACCES, 2 * atOnce, false},
		{context.DeadlineExceeded, time.Millisecond, false},
		{errors.New("something else"), 0, false},
	} {
		if ok, detail := refusal(c.err, c.took); ok != c.held || detail == "" {
			t.Errorf("%v after %v: %v, %q", c.err, c.took, ok, detail)
		}
	}
}

// What the kernel allows is a hole, whatever was promised.
func TestDenied(t *testing.T) {
	if held(t, denied(func() error { return nil }), nil) || !held(t, denied(func() error { return syscall.EPERM }), nil) {
		t.Error("a success is held, or a refusal is not")
	}
}

// On this host, which is no fence, the promises about the network and the root file
// system that can be tried without harm are broken.
func TestOutsideOfAFence(t *testing.T) {
	dir := t.TempDir()
	if held(t, notWritable(dir), nil) {
		t.Error("a directory of ours is not writable")
	}
	if !held(t, notWritable(filepath.Join(dir, "none")), nil) {
		t.Error("a directory that is not there is writable")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	if held(t, refusedTCP("ourselves", "127.0.0.1", port).try, nil) || held(t, refusedMapped("ourselves", "::ffff:127.0.0.1", port).try, nil) {
		t.Error("a connection counts as refused")
	}
	l.Close()
	if !held(t, refusedTCP("nobody", "127.0.0.1", port).try, nil) {
		t.Error("a closed port counts as open")
	}
}

// Directories of the host's are covered when they show nothing and take nothing.
func TestCovered(t *testing.T) {
	s := &Surroundings{Bare: t.TempDir()}
	if !held(t, covered, s) {
		t.Error("what is not there is seen")
	}
	hooks := filepath.Join(s.Bare, "hooks.chained")
	if err := os.Mkdir(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	if held(t, covered, s) {
		t.Error("a directory that can be written to is covered")
	}
	if err := os.WriteFile(filepath.Join(hooks, "pre-receive"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if held(t, covered, s) {
		t.Error("a hook is shown")
	}
}

func TestPlainConfig(t *testing.T) {
	for text, want := range map[string]bool{
		"[core]\n\tbare = true\n":                              true,
		"[http]\n\textraHeader = Authorization: x\n":           false,
		"[remote \"up\"]\n\turl = https://example.org/x.git\n": false,
		"[include]\n\tpath = /etc/gitconfig\n":                 false,
	} {
		s := &Surroundings{Bare: t.TempDir()}
		if err := os.WriteFile(filepath.Join(s.Bare, "config"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if held(t, plainConfig, s) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

// listen serves a unix socket and returns its path.
func listen(t *testing.T, serve func(net.Listener)) string {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go serve(l)
	return l.Addr().String()
}

// saying answers every connection with a text, and reads what it is sent.
func saying(text string) func(net.Listener) {
	return func(l net.Listener) {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.WriteString(conn, text)
				io.Copy(io.Discard, conn)
			}()
		}
	}
}

func TestDoor(t *testing.T) {
	advertisement := "00b1" + strings.Repeat("a", 40) + " refs/heads/main\x00report-status"
	s := &Surroundings{Door: listen(t, saying(advertisement))}
	if !held(t, doorAnswers, s) || !held(t, doorIgnoresVerbs, s) {
		t.Error("an advertisement is no answer")
	}
	s.Door = listen(t, saying("0008NAK\nPACK"+strings.Repeat("x", 60)))
	if held(t, doorAnswers, s) || held(t, doorIgnoresVerbs, s) {
		t.Error("a pack is taken for an advertisement")
	}
	s.Door += ".gone"
	if held(t, doorAnswers, s) || held(t, doorIgnoresVerbs, s) {
		t.Error("a door that is not there counts")
	}
}

func TestGatewayRefuses(t *testing.T) {
	for status, want := range map[int]bool{http.StatusForbidden: true, http.StatusNotFound: true, http.StatusOK: false, http.StatusBadGateway: false} {
		s := &Surroundings{Gateway: listen(t, func(l net.Listener) {
			http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		})}
		if held(t, gatewayRefuses("POST", "/anthropic/v1/files", "a file").try, s) != want {
			t.Errorf("%d: want %v", status, want)
		}
	}
}

// TestWritableBeside: what can be written to is found by trying, wherever it is mounted and
// whatever it is called; the kernel's own takes no file, and needs no exemption.
func TestWritableBeside(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"declared/deep", "run/new place/deep", "dev/mqueue", "read"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var info strings.Builder
	for _, m := range []struct{ at, options, kind string }{
		{dir + "/declared", "rw", "tmpfs"}, {dir + "/run/new\\040place", "rw,nosuid", "tmpfs"}, {dir + "/dev/mqueue", "rw", "mqueue"},
		{dir + "/read", "ro", "ext4"}, {dir + "/file", "rw", "ext4"}, {"/proc", "rw", "proc"},
	} {
		fmt.Fprintf(&info, "36 35 98:0 / %s %s - %s none rw\n", m.at, m.options, m.kind)
	}
	want := []string{dir + "/dev/mqueue", dir + "/file", dir + "/run/new place"}
	if got := writableBeside(info.String(), []string{dir + "/declared"}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNamesNotRefused: where nothing refuses them, all questions come, and the attempt says so.
func TestNamesNotRefused(t *testing.T) {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to := l.LocalAddr().(*net.UDPAddr).AddrPort()
	ok, detail := askMany(unix.SOCK_DGRAM, to, 100, nil, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, questionBytes)
	})
	var m dnsmessage.Message
	got := make([]byte, 512)
	if n, _, err := l.ReadFrom(got); ok || err != nil || m.Unpack(got[:n]) != nil || n != questionBytes {
		t.Errorf("%v %s; %d bytes, %v", ok, detail, n, err)
	}
	stream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	go func() {
		if conn, err := stream.Accept(); err == nil {
			io.Copy(io.Discard, conn)
		}
	}()
	if ok, detail := askMany(unix.SOCK_STREAM, stream.Addr().(*net.TCPAddr).AddrPort(), 100, []byte{0, questionBytes}, func(int) error { return nil }); ok {
		t.Error(detail)
	}
}

// Every part of the fence is tried, and what depends on the launch is added.
func TestAttempts(t *testing.T) {
	promises := func(list []attempt) (all []string) {
		for _, a := range list {
			if a.id == "" || a.promise == "" || a.try == nil {
				t.Errorf("%+v is not whole", a)
			}
			all = append(all, a.promise)
		}
		return all
	}
	plain := promises(network(&Surroundings{Egress: "public"}))
	if len(plain) < len(forbidden)+6 {
		t.Errorf("only %d attempts on the network", len(plain))
	}
	closed := promises(network(&Surroundings{Egress: "allowlist", Hosts: []string{"192.0.2.1"}, Resolver: "10.0.2.3"}))
	if len(closed) != len(plain)+4 || !slices.Contains(closed, "refused at once: the host's own address, 192.0.2.1 tcp 22") {
		t.Errorf("%d attempts, %d of them anywhere", len(closed), len(plain))
	}
	promises(life(&Surroundings{}))
	promises(privileges(&Surroundings{}))
	promises(files(&Surroundings{}))
	if len(promises(services(&Surroundings{}))) >= len(promises(services(&Surroundings{Gateway: "/sock"}))) {
		t.Error("a gateway adds no attempt")
	}
}
