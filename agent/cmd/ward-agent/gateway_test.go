package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/modeltest"
	"git-ward/protocols/comms"
	"git-ward/sandbox/launch"
)

// key is the one that the gateway adds on the host's side.
const key = "sk-ward-test-" + "7f3a9c51e2d84b60a1"

// host is a repository with all that a launch puts beside an agent: hooks, door,
// gateway, verdicts; and a stand-in of the models' APIs behind the gateway.
type host struct {
	*gittest.Pair
	*modeltest.Server
	dir     string
	control string // the branch of COMMS.md
	test    testing.TB
}

// newHost makes one with these settings, by their keys, and a directive that a file decides.
func newHost(t testing.TB, play func(*modeltest.Request) modeltest.Turn, settings map[string]string) *host {
	t.Helper()
	p := gittest.New(t)
	h := serve(t, p, play, settings)
	document, err := os.ReadFile(filepath.Join(p.Work, comms.Path))
	if err != nil {
		t.Fatal(err)
	}
	p.Write(comms.Path, strings.Replace(string(document), "## Directives\n", "## Directives\n\n### D-1: make a file\n\nMake made.txt.\n\n- [ ] it is there (`test -e made.txt`)\n- work: made.txt\n", 1))
	p.Git("commit", "--quiet", "--all", "--message", "D-1")
	p.Git("push", "--quiet", "origin", "main")
	return h
}

// serve puts a stand-in behind a repository and gives it settings, each by its whole key,
// such as model.command: other sections have a command, too, which the host itself runs.
func serve(t testing.TB, p *gittest.Pair, play func(*modeltest.Request) modeltest.Turn, settings map[string]string) *host {
	t.Helper()
	h := &host{Pair: p, Server: modeltest.New(t, play), dir: filepath.Dir(p.Bare), control: "main", test: t}
	path := filepath.Join(p.Bare, config.Path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{
		"model.anthropic_url": `"` + h.URL + `"`, "model.openai_url": `"` + h.URL + `"`,
		"agent.scout": "false", // most tests play turns in the order in which they are asked for
	}
	maps.Copy(all, settings)
	for key, literal := range all {
		if text, err = config.Set(text, key, literal); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return h
}

// launch runs the agent until no directive is open, and returns what it logged.
// It is unfenced, which people may have with the script model only; the key is
// where only the launcher looks.
func (h *host) launch() string {
	h.test.Helper()
	log, err := h.try()
	if err != nil {
		h.test.Errorf("%v\n%s", err, log)
	}
	return log
}

// try is a launch that may fail.
func (h *host) try() (string, error) {
	h.test.Helper()
	bin, err := gittest.Bin()
	if err != nil {
		h.test.Fatal(err)
	}
	settings, err := config.Load(h.Bare)
	if err != nil {
		h.test.Fatal(err)
	}
	var log output
	err = launch.Run(context.Background(), launch.Spec{
		Bare: h.Bare, Settings: settings, Unfenced: true, State: filepath.Join(h.dir, "state"),
		Payload:  launch.Payload{Model: settings.Model.Name, Once: true, Stdout: &log, Stderr: &log},
		Programs: launch.Programs{Agent: filepath.Join(bin, "ward-agent"), Forwarder: filepath.Join(bin, "ward-inside"), Watcher: filepath.Join(bin, "ward-watcher"), Ward: filepath.Join(bin, "git-ward")},
		Getenv: func(name string) string {
			return map[string]string{"ANTHROPIC_API_KEY": key, "OPENAI_API_KEY": key}[name]
		},
		Messages: &log,
	})
	h.Git("fetch", "--quiet")
	return log.String(), err
}

// report is the newest one.
func (h *host) report() (status, text string) {
	h.test.Helper()
	doc, _ := comms.Parse([]byte(h.Git("show", "origin/"+h.control+":"+comms.Path)))
	if len(doc.Reports) == 0 {
		h.test.Fatal("no report")
	}
	last := doc.Reports[len(doc.Reports)-1]
	return string(last.Status), last.Text
}

// output is a buffer that several processes' output goes to.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
