// Package preset knows people's own agent programs: how each is started so that
// it works alone, by the gateway's models and from a home of its own, and what
// its stream of events says of its work.
package preset

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"git-ward/agent/model"
	"git-ward/internal/config"
	"git-ward/internal/glob"
	"git-ward/internal/process"
)

// Preset is one program.
type Preset struct {
	config.Worker

	native string // path below node_modules of the native program that Program starts
	setup  func(s Setup) invocation
	read   func(line []byte, r *Reading)
}

// Setup has the inputs of an invocation.
type Setup struct {
	Home      string   // the program's own, empty
	ID        string   // the model; "" is the program's choice
	Anthropic string   // base URL of the gateway, without /v1
	OpenAI    string   // the same, with /v1
	Server    []string // command line of Ward's MCP server; empty: none

	provider config.Provider // the API that the program uses for the model
}

// invocation is how a program is started. It reads the prompt from stdin.
type invocation struct {
	args  []string // without the program
	env   map[string]string
	files map[string]any // JSON files in the home
}

// Reading has what was read from a program's stream so far.
type Reading struct {
	Words  string // the last text, for the report
	Turns  int    // 0: not reported
	Calls  int    // of tools
	Usage  model.Usage
	Known  bool   // the stream reported tokens; else Usage is unset
	Ended  bool   // it finished by itself
	Failed string // why it did not, in its own words

	Told func(Event) // gets each event; may be nil

	tools map[string]string      // tool names by call id
	spent map[string]model.Usage // usage by message id, for messages reported repeatedly
}

// presets is what Ward knows of the programs in the settings' table, by name.
var presets = map[string]Preset{
	"claude-code": {setup: setupClaude, read: readClaude},
	"codex":       {setup: setupCodex, read: readCodex, native: "@openai/codex-linux-*/vendor/*/bin/codex"},
	"opencode":    {setup: setupOpencode, read: readOpencode},
}

// Of returns the preset for a worker's name, nil if there is none.
func Of(name string) *Preset {
	p, known := presets[name]
	if !known {
		return nil
	}
	p.Worker, _ = config.FindWorker(name)
	return &p
}

// Find is the program's path. Where an npm package has a script of node in front
// of the program itself, it is the latter: the fence may have no node.
func (p *Preset) Find() (string, error) {
	path, err := exec.LookPath(p.Program)
	if err != nil || p.native == "" {
		return path, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	for dir := filepath.Dir(real); dir != "/"; dir = filepath.Dir(dir) {
		if filepath.Base(dir) != "node_modules" {
			continue
		}
		if found, _ := glob.Below(dir, p.native); len(found) > 0 {
			return found[0], nil
		}
	}
	return path, nil
}

// Prepare makes the home and returns the command line, program first, and the
// variables that the program needs besides its user's.
func (p *Preset) Prepare(s Setup) (args, env []string, err error) {
	path, err := p.Find()
	if err != nil {
		return nil, nil, err
	}
	// An earlier run's home would bring its memory along.
	if err := makeAnew(s.Home); err != nil {
		return nil, nil, err
	}
	if err := process.WriteProfile(s.Home, os.Getenv("PATH")); err != nil {
		return nil, nil, err
	}
	s.provider = p.ProviderOf(s.ID)
	v := p.setup(s)
	for name, content := range v.files {
		if err := writeJSON(filepath.Join(s.Home, name), content); err != nil {
			return nil, nil, err
		}
	}
	v.env["HOME"] = s.Home
	for _, name := range slices.Sorted(maps.Keys(v.env)) {
		env = append(env, name+"="+v.env[name])
	}
	return append([]string{path}, v.args...), env, nil
}

// makeAnew recreates a directory of the agent's state.
func makeAnew(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return errors.Join(parent.RemoveAll(filepath.Base(dir)), parent.Mkdir(filepath.Base(dir), 0o700))
}

// Read takes a line of the stream. It skips lines that do not belong to it.
func (p *Preset) Read(line []byte, r *Reading) { p.read(line, r) }
