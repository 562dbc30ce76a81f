package inside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/cli"
	gw "git-ward/sandbox/gateway"
)

// TestMain lets the test binary be ward-inside itself, as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("INSIDE_TEST_CLIENT") != "" {
		client()
		return
	}
	if os.Getenv("INSIDE_TEST_MAIN") != "" {
		os.Unsetenv("INSIDE_TEST_MAIN")
		cli.Main("ward-inside", Command)
	}
	os.Exit(m.Run())
}

// gateway is a server on a unix socket, in place of the real one.
func gateway(t *testing.T, h http.HandlerFunc) string {
	dir, err := os.MkdirTemp("", "ward-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return l.Addr().String()
}

func run(stdin string, args ...string) (stdout string, err error) {
	var out bytes.Buffer
	err = Command(context.Background(), &cli.Env{Program: "ward-inside", Args: args,
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out, Dir: "/"})
	return out.String(), err
}

func self(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "INSIDE_TEST_MAIN=1")
	return cmd
}

func TestForwarder(t *testing.T) {
	socket := gateway(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
	})
	const script = `port=${OPENAI_BASE_URL#http://127.0.0.1:}; port=${port%%/*}
exec 3<>/dev/tcp/127.0.0.1/$port
printf 'POST /openai/v1/responses HTTP/1.0\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi' >&3
cat <&3`
	out, err := run("", "--gateway", socket, "--", "bash", "-c", script)
	if err != nil || !strings.HasSuffix(out, "POST /openai/v1/responses hi") {
		t.Errorf("%s %v", out, err)
	}
	out, err = run("", "--gateway", socket+".gone", "--", "bash", "-c", script)
	if err != nil || !strings.Contains(out, "502 Bad Gateway") || !strings.Contains(out, "git ward launch") {
		t.Errorf("%s %v", out, err)
	}
}

func TestPayload(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
		out  string
		code int
	}{
		{[]string{"cat"}, "through", "through", 0},
		{[]string{"sh", "-c", "exit 7"}, "", "", 7},
		{[]string{"sh", "-c", "kill -9 $$"}, "", "", 137},
		{[]string{"sh", "-c", "kill -TERM $$"}, "", "", 143},
		{[]string{"/nowhere/at/all"}, "", "", 127},
		{[]string{"not-a-program-anywhere"}, "", "", 127},
		{[]string{"/etc/passwd"}, "", "", 126},
		{[]string{"sh", "-c", "echo $0 $1", "--", "-x"}, "", "-- -x\n", 0},
	} {
		out, err := run(c.in, append([]string{"--gateway", "/nowhere", "--"}, c.args...)...)
		var code cli.ExitCode
		errors.As(err, &code)
		if c.code == 126 || c.code == 127 {
			if !strings.HasPrefix(out, "ward-inside: error: ") {
				t.Errorf("%v: %s", c.args, out)
			}
			out = ""
		}
		if int(code) != c.code || out != c.out || c.code == 0 && err != nil {
			t.Errorf("%v: %q %v, want %q %d", c.args, out, err, c.out, c.code)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"--gateway", "x"}, {"--", "true"}, {"--gateway", "x", "--listen", "0.0.0.0:0", "--", "true"}, {"--gateway", "x", "--listen", ":0", "--", "true"}} {
		if _, err := run("", args...); err == nil {
			t.Errorf("%v passes", args)
		}
	}
}

func TestEnviron(t *testing.T) {
	old := []string{"PATH=/bin", "OPENAI_API_KEY=real", "ANTHROPIC_AUTH_TOKEN=real", "http_proxy=http://old", "ALL_PROXY=x", "HTTP_PROXYX=kept"}
	models := []string{"ANTHROPIC_API_KEY=ward", "ANTHROPIC_BASE_URL=http://127.0.0.1:9/anthropic"}
	openAI := []string{"OPENAI_API_KEY=ward", "OPENAI_BASE_URL=http://127.0.0.1:9/openai/v1", "PATH=/bin"}
	want := slices.Concat(models, []string{"HTTP_PROXYX=kept"}, openAI)
	if got := Environ(old, "127.0.0.1:9", false); !slices.Equal(got, want) {
		t.Errorf("public mode: %v", got)
	}
	want = slices.Concat(models, []string{"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "HTTP_PROXYX=kept", "NO_PROXY=127.0.0.1,::1,localhost"},
		openAI, []string{"http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9", "no_proxy=127.0.0.1,::1,localhost"})
	if got := Environ(old, "127.0.0.1:9", true); !slices.Equal(got, want) {
		t.Errorf("allow-list mode: %v", got)
	}
}

func TestSignalsAreForwarded(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGWINCH} {
		cmd := self("--gateway", "/nowhere", "--", "bash", "-c", `trap 'exit 42' TERM INT HUP USR1 WINCH; echo ready; while :; do sleep 0.05; done`)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Read(make([]byte, 8))
		cmd.Process.Signal(s)
		timer := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		timer.Stop()
		if cmd.ProcessState.ExitCode() != 42 {
			t.Errorf("%v: %v", s, cmd.ProcessState)
		}
	}
}

// As the first process of a PID namespace it buries the orphans of its payload.
func TestFirstProcessReaps(t *testing.T) {
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--", os.Args[0], "--gateway", "/nowhere", "--", "bash", "-c",
		`for i in 1 2 3 4 5; do (sleep 0.05 & sleep 0.01 & true); done; sleep 0.4; grep -l '^State:.*Z' /proc/[0-9]*/status; cat /proc/1/comm; exit 5`)
	cmd.Env = append(os.Environ(), "INSIDE_TEST_MAIN=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if strings.Contains(stderr.String(), "not permitted") {
		t.Skip("no PID namespace for this user: ", stderr.String())
	}
	if cmd.ProcessState.ExitCode() != 5 || strings.Contains(string(out), "/proc/") || !strings.HasPrefix(string(out), "inside") {
		t.Errorf("%v: %s %s", err, out, &stderr)
	}
}

// client is a payload that knows nothing of Ward: it follows its environment.
func client() {
	for _, url := range []string{"http://denied.example.com/", os.Getenv("OPENAI_BASE_URL") + "/models"} {
		resp, err := http.Get(url)
		if err != nil {
			fmt.Println(err)
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		fmt.Println(resp.Status, string(text))
	}
	_, err := http.Get("https://denied.example.com/")
	fmt.Println(err)
}

func TestThroughTheRealGateway(t *testing.T) {
	prices, err := gw.NewPrices([]gw.PriceSetting{{Model: "m", Input: "1", Output: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gw.Listen(gw.Config{
		Meter: filepath.Join(t.TempDir(), "meter.json"), Prices: prices, Allowlist: true,
		Directive: func() string { return "D-1" }, Budget: func(string) gw.Budget { return gw.Budget{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx) }()
	t.Setenv("INSIDE_TEST_CLIENT", "1")
	out, err := run("", "--gateway", g.Socket(), "--proxy", "--", os.Args[0])
	stop()
	if err != nil || <-served != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`403 Forbidden ward: denied.example.com is refused: the name is not on the list`, `add "denied.example.com" to [egress] allow`,
		`403 Forbidden {"error":{"code":"forbidden","message":"ward: the host has no key for openai`, `Get "https://denied.example.com/": Forbidden`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nhas no %s", out, want)
		}
	}
}
