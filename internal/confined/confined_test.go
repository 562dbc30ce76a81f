package confined

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/process"
)

const much = 1 << 20

// TestRun: no shell, no environment, no input, no network; the exit code and stdout come
// back, and nothing else.
func TestRun(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().String()[len("127.0.0.1:"):]
	for name, c := range map[string]struct {
		argv, args []string
		exit       int64
		out        string
	}{
		"arguments are words":  {[]string{"/bin/echo", "fixed"}, []string{"a b", "$HOME", "; ls", "`id`", "*"}, 0, "fixed a b $HOME ; ls `id` *\n"},
		"an exit code":         {[]string{"/bin/sh", "-c", "echo out; echo err >&2; exit 7"}, nil, 7, "out\n"},
		"no environment":       {[]string{"/usr/bin/env"}, nil, 0, ""},
		"no input":             {[]string{"/bin/cat"}, nil, 0, ""},
		"an empty directory":   {[]string{"/bin/ls", "-A"}, nil, 0, ""},
		"no network":           {[]string{"/bin/bash", "-c", "(exec 3<>/dev/tcp/127.0.0.1/" + port + ") 2>/dev/null || exit 3"}, nil, 3, ""},
		"no service over unix": {[]string{"/bin/bash", "-c", "python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2>/dev/null; test $? = 0 || exit 4"}, nil, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := run(t.Context(), c.argv, c.args, time.Minute, much)
			if a.Denied != "" || a.Late || a.Large || a.Exit != c.exit || string(a.Output) != c.out {
				t.Errorf("%+v: %q", a, a.Output)
			}
		})
	}
	// What one thread may not, this process may.
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// TestBounds: time and output end a tool, and nothing of it is left.
func TestBounds(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	pid, end := 0, await.Deadline(t)
	for limit := 500 * time.Millisecond; pid == 0; limit *= 2 { // until it had the time to leave its mark
		if a := run(t.Context(), []string{"/bin/sh", "-c", "sleep 1000 & echo $! >" + mark + "; wait"}, nil, limit, much); !a.Late {
			t.Errorf("%+v", a)
		}
		data, err := os.ReadFile(mark)
		if pid, _ = strconv.Atoi(strings.TrimSpace(string(data))); pid == 0 && time.Until(end) < 2*limit {
			t.Fatalf("it left no mark: %v", err)
		}
	}
	await.True(t, "nothing of it runs on", func() bool { p, there := process.Read(pid); return !there || p.Dead })
	if a := run(t.Context(), []string{"/usr/bin/yes"}, nil, time.Minute, 1000); !a.Large {
		t.Errorf("%+v", a)
	}
	if a := run(t.Context(), []string{"/no/such/program"}, nil, time.Minute, 1000); a.Denied == "" {
		t.Errorf("%+v", a)
	}
}

// TestCall: outside of the fence nothing is run, and a program that its caller can write
// nowhere.
func TestCall(t *testing.T) {
	if a := Call(t.Context(), []string{"/bin/true"}, nil, time.Minute, much); !strings.HasPrefix(a.Denied, "tools of the host's are run inside of the fence only") {
		t.Errorf("%+v", a)
	}
	own := filepath.Join(t.TempDir(), "tool")
	gittest.Program(t, own, "")
	if why := writable(own); !strings.Contains(why, "can be written") {
		t.Error(why)
	}
	if why := writable("/no/such"); why == "" {
		t.Error("a program that there is not is run")
	}
}
