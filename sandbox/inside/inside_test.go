package inside

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/runstate"
	gw "git-ward/sandbox/gateway"
)

// TestMain lets the test binary be a payload, as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("INSIDE_TEST_CLIENT") != "" {
		client()
		return
	}
	if os.Getenv("INSIDE_TEST_NARROWED") != "" {
		narrowed()
		return
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

// run runs a command behind a gateway's socket, and returns what it wrote.
func run(stdin string, p Payload, args ...string) (stdout string, code int, err error) {
	var out bytes.Buffer
	p.Listen, p.Args, p.Dir = "127.0.0.1:0", args, "/"
	p.Stdin, p.Stdout, p.Stderr = strings.NewReader(stdin), &out, &out
	code, err = Run(p)
	return out.String(), code, err
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
	out, _, err := run("", Payload{Gateway: socket}, "bash", "-c", script)
	if err != nil || !strings.HasSuffix(out, "POST /openai/v1/responses hi") {
		t.Errorf("%s %v", out, err)
	}
	out, _, err = run("", Payload{Gateway: socket + ".gone"}, "bash", "-c", script)
	if err != nil || !strings.Contains(out, "502 Bad Gateway") || !strings.Contains(out, "git ward launch") {
		t.Errorf("%s %v", out, err)
	}
}

// A gateway that refuses a request before its body is heard, whatever the client still sends.
func TestRefusedEarly(t *testing.T) {
	at := filepath.Join(t.TempDir(), "sock")
	socket, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	local, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	go forward(local, at)
	body := bytes.Repeat([]byte("x"), 8<<20) // more than the kernel keeps for either side
	deaf := make(chan error, 1)
	go func() {
		conn, err := socket.Accept()
		if err == nil {
			defer conn.Close()
			err = conn.(*net.UnixConn).CloseRead()
		}
		deaf <- err
		if err == nil {
			conn.Write(body)
		}
	}()
	client, err := net.Dial("tcp", local.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := <-deaf; err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(body); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(client); err != nil || len(got) != len(body) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(body))
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
		out, code, err := run(c.in, Payload{Gateway: "/nowhere"}, c.args...)
		if c.code == 126 || c.code == 127 {
			if !strings.HasPrefix(out, "ward-inside: error: ") {
				t.Errorf("%v: %s", c.args, out)
			}
			out = ""
		}
		if code != c.code || out != c.out || err != nil {
			t.Errorf("%v: %q %v, want %q %d", c.args, out, err, c.out, c.code)
		}
	}
}

// The forwarder is for the payload alone.
func TestLoopbackOnly(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "localhost:0", ""} {
		if _, err := Run(Payload{Gateway: "x", Listen: listen, Args: []string{"true"}}); err == nil {
			t.Errorf("%q passes", listen)
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

// payer is D-1, which has no limit of its own.
type payer struct{}

func (payer) Directive() string { return "D-1" }
func (payer) Own(string) (gw.Budget, error) {
	return gw.Budget{Tokens: gw.Unlimited, Cost: gw.Unlimited}, nil
}
func (payer) Held(string) string                   { return "" }
func (payer) Troubles(map[string]runstate.Trouble) {}

func TestThroughTheRealGateway(t *testing.T) {
	prices, err := gw.NewPrices([]gw.PriceSetting{{Model: "m", Input: "1", Output: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	meter, err := gw.OpenMeter(filepath.Join(t.TempDir(), "meter.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer meter.Close()
	g, err := gw.Listen(gw.Config{
		Meter: meter, Shared: gw.NewShared(60, 60), Prices: prices, Allowlist: true,
		Payer: payer{}, Budget: gw.Budget{},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx) }()
	t.Setenv("INSIDE_TEST_CLIENT", "1")
	out, _, err := run("", Payload{Gateway: g.Socket(), Proxy: true}, os.Args[0])
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
