package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/modeltest"
	"git-ward/sandbox/gateway"
)

// key is the one that the gateway adds on the host's side.
const key = "sk-ward-test-7f3a9c51e2d84b60a1"

// host is a site with what stands beside the fence: a gateway to a stand-in of
// the models' APIs, and the forwarder in front of the agent.
type host struct {
	*site
	*modeltest.Server
	inside string
	socket string
	bin    string       // in front of PATH; may be empty
	log    bytes.Buffer // the gateway's
}

// newHost makes a site whose settings have these lines in place of their own.
func newHost(t testing.TB, play func(*modeltest.Request) modeltest.Turn, budget gateway.Budget, settings map[string]string) *host {
	t.Helper()
	agent := build(t)
	h := &host{site: newSite(t, agent, ""), Server: modeltest.New(t, play), inside: filepath.Join(filepath.Dir(agent), "ward-inside")}
	text, err := os.ReadFile(h.path("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(line, " = ")
		if value, ok := settings[name]; ok {
			lines[i] = name + " = " + value + "\n"
		}
	}
	h.write("config.toml", strings.Join(lines, ""))
	h.serve(budget)
	return h
}

func (h *host) serve(budget gateway.Budget) {
	h.Helper()
	prices, err := gateway.NewPrices([]gateway.PriceSetting{{Model: "claude-*", Input: "3", Output: "15"}, {Model: "gpt-*", Input: "3", Output: "15"}})
	if err != nil {
		h.Fatal(err)
	}
	k, err := gateway.NewKey(key)
	if err != nil {
		h.Fatal(err)
	}
	upstream := gateway.Provider{BaseURL: h.URL, Key: k}
	g, err := gateway.Listen(gateway.Config{
		Meter: h.path("meter.json"), Directive: func() string { return "D-1" }, Budget: func(string) gateway.Budget { return budget },
		Anthropic: upstream, OpenAI: upstream, Prices: prices, Log: zerolog.New(&h.log),
	})
	if err != nil {
		h.Fatal(err)
	}
	h.socket = g.Socket()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx) }()
	h.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			h.Error(err)
		}
	})
}

// run runs the agent behind the gateway until no directive is open, in an
// environment like the launcher's for it, and returns its log.
func (h *host) run() string {
	h.Helper()
	cmd := exec.Command(h.inside, "--gateway", h.socket, "--", h.binary, "--bare=remote.git", "--state=state", "--config=config.toml", "--once")
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + strings.TrimPrefix(h.bin+":"+os.Getenv("PATH"), ":"), "HOME=" + h.dir, "LANG=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.Fatalf("%v\n%s\n%s", err, out, &h.log)
	}
	return string(out)
}

// report is the text of the newest report.
func (h *host) report() (status, text string) {
	h.Helper()
	all := h.reports()
	if len(all) == 0 {
		h.Fatal("no report")
	}
	last := all[len(all)-1]
	return string(last.Status), last.Text
}

var unlimited = gateway.Budget{Tokens: gateway.Unlimited, Cost: gateway.Unlimited}
