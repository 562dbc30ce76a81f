package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/agent/model"
	"git-ward/agent/model/anthropic"
	"git-ward/agent/preset"
	"git-ward/agent/tool"
	"git-ward/internal/benchtest"
	"git-ward/internal/gittest"
	"git-ward/internal/modeltest"
	"git-ward/internal/runstate"
	"git-ward/sandbox/gateway"
)

// TestBenchTurn is one turn of a model that takes a second, through Ward's gateway
// with its meter on disk, against the same turn without it; and one call of the
// tool bash against the same command run bare.
func TestBenchTurn(t *testing.T) {
	benchtest.Only(t)
	const thinks = time.Second
	s := modeltest.New(t, func(*modeltest.Request) modeltest.Turn {
		time.Sleep(thinks) // the model's own time, against which Ward's is measured
		return modeltest.Turn{Text: "done"}
	})
	g := serveGateway(t, s.URL)
	var bare, through []time.Duration
	for range 5 {
		bare = append(bare, turn(t, s.URL))
		through = append(through, turn(t, g))
	}
	benchtest.Against("a model's turn of one second through the gateway", benchtest.Median(through), "without it", benchtest.Median(bare))

	box := &tool.Box{Dir: t.TempDir(), State: t.TempDir(), Env: os.Environ(), Timeout: time.Minute, OutputSize: 1000}
	var tools, plain []time.Duration
	for range 20 {
		start := time.Now()
		if _, err := tool.Call(t.Context(), box.Tools(), "bash", []byte(`{"command":"true"}`)); err != nil {
			t.Fatal(err)
		}
		tools = append(tools, time.Since(start))
		plain = append(plain, bash(t))
	}
	benchtest.Against("a call of the tool bash, logged and bounded", benchtest.Median(tools), "bash -c true", benchtest.Median(plain))
}

func turn(t *testing.T, url string) time.Duration {
	t.Helper()
	m := anthropic.New(anthropic.Options{BaseURL: url, Key: "ward", ID: "claude-test", Output: 100, Silence: time.Minute})
	start := time.Now()
	_, err := m.Turn(t.Context(), &model.Conversation{System: "You are an agent.", Messages: []model.Message{{Role: model.User, Text: "Continue."}}})
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// serveGateway is the address of a forwarder to a gateway in front of a provider.
func serveGateway(t *testing.T, upstream string) string {
	t.Helper()
	prices, err := gateway.NewPrices([]gateway.PriceSetting{{Model: "*", Input: "3", Output: "15"}})
	if err != nil {
		t.Fatal(err)
	}
	k, err := gateway.NewKey(key)
	if err != nil {
		t.Fatal(err)
	}
	meter, err := gateway.OpenMeter(t.TempDir() + "/meter.json")
	if err != nil {
		t.Fatal(err)
	}
	return forward(t, gateway.Config{Meter: meter, Shared: gateway.NewShared(120, 60), Prices: prices,
		Anthropic: gateway.Provider{BaseURL: upstream, Key: k}, OpenAI: gateway.Provider{BaseURL: upstream, Key: k},
		Models: []string{"claude-test", "gpt-test"},
		Payer:  payer{}, Budget: unlimited})
}

var unlimited = gateway.Budget{Tokens: gateway.Unlimited, Cost: gateway.Unlimited}

// payer pays for all, as D-1.
type payer struct{}

func (payer) Directive() string                    { return "D-1" }
func (payer) Own(string) (gateway.Budget, error)   { return unlimited, nil }
func (payer) Held(string) string                   { return "" }
func (payer) Troubles(map[string]runstate.Trouble) {}

// forward serves a gateway with the real forwarder in front of it, and gives the
// base URL that the forwarder tells its payload.
func forward(t *testing.T, c gateway.Config) string {
	t.Helper()
	g, err := gateway.Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx) }()
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "ward-inside"), "--gateway", g.Socket(), "--", "sh", "-c", "echo $ANTHROPIC_BASE_URL; cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
		cancel()
		<-served
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

func bash(t *testing.T) time.Duration {
	t.Helper()
	start := time.Now()
	if err := exec.Command("bash", "-c", "true").Run(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// TestBenchProgram is a whole run of a real program, three turns of a second and a
// use of its own tool and of Ward's each, through Ward's forwarder and gateway
// against the same program at the stand-in itself.
func TestBenchProgram(t *testing.T) {
	benchtest.Only(t)
	s := modeltest.New(t, func(r *modeltest.Request) modeltest.Turn {
		time.Sleep(time.Second) // the model's own time, against which Ward's is measured
		return modeltest.ByProgram(r)
	})
	g := serveGateway(t, s.URL)
	for _, name := range []string{"claude-code", "codex"} {
		p := preset.Of(name)
		t.Setenv("PATH", filepath.Join(modeltest.Install(t, p.Package), "node_modules", ".bin")+":"+os.Getenv("PATH"))
		var bare, through []time.Duration
		for range 5 {
			bare = append(bare, alone(t, p, s.URL, s.URL+"/v1"))
			through = append(through, alone(t, p, g, strings.TrimSuffix(g, "anthropic")+"openai/v1"))
		}
		benchtest.Against(name+", a run of three turns of one second, through the gateway", benchtest.Median(through), "without it", benchtest.Median(bare))
	}
}

// alone runs a program in a repository of its own.
func alone(t *testing.T, p *preset.Preset, anthropic, openai string) time.Duration {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "COMMS.md"), []byte("# COMMS\n## Directives\n### D-1: make a file\n- [ ] x\n## Reports\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args, env, err := p.Prepare(preset.Setup{Home: filepath.Join(dir, ".git", "home"), ID: map[string]string{"codex": "gpt-test"}[p.Name], Anthropic: anthropic, OpenAI: openai,
		Server: []string{filepath.Join(bin, "git-ward-mcp"), "mcp", "--dir", dir}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Name == "claude-code" {
		args = append(args, "--model", "claude-test")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "LANG=C.UTF-8", "ANTHROPIC_API_KEY=ward", "OPENAI_API_KEY=ward",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	cmd.Stdin = strings.NewReader("Continue.")
	stream := &preset.Stream{Preset: p}
	cmd.Stdout = stream
	start := time.Now()
	if err := cmd.Run(); err != nil || !stream.Reading.Ended || stream.Reading.Calls != 2 {
		t.Fatalf("%s: %v %+v", p.Name, err, stream.Reading)
	}
	return time.Since(start)
}
