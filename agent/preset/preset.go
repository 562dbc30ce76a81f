// Package preset knows people's own agent programs: how each is started so that
// it works alone, by the gateway's models and from a home of its own, and what
// its stream of events says of its work.
package preset

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/agent/model"
	"git-ward/internal/config"
	"git-ward/internal/lines"
	"git-ward/internal/process"
)

// What a program says of its options is read for so long, and so far in bytes.
const (
	helpTime = 20 * time.Second
	helpWait = 2 * time.Second // for what it started, once it has ended
	maxHelp  = 256 << 10
)

// Preset is one program.
type Preset struct {
	config.Worker

	setup func(s Setup) invocation
	read  func(line []byte, r *Reading)
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
	args  []string   // without the program
	some  [][]string // options with their values that not every release has; each says by --help which
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
	"codex":       {setup: setupCodex, read: readCodex},
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
	args = append([]string{path}, v.args...)
	if len(v.some) > 0 {
		says := help(path, v.env["HOME"], env)
		for _, option := range v.some {
			if says == "" || strings.Contains(says, option[0]) {
				args = append(args, option...)
			}
		}
	}
	return args, env, nil
}

// helps is what programs said of their options, by their paths: each iteration prepares anew, and a
// program takes long to start.
var helps sync.Map

// told is what a file said. A script stands for the program that it starts, too.
type told struct {
	dev, ino         uint64
	size             int64
	modified, change unix.Timespec
	said             string
}

// help is what a program says of its options, "" where it says nothing.
func help(path, home string, env []string) string {
	var file unix.Stat_t
	known := unix.Stat(path, &file) == nil
	now := told{dev: uint64(file.Dev), ino: file.Ino, size: file.Size, modified: file.Mtim, change: file.Ctim}
	if last, ok := helps.Load(path); ok && known {
		now.said = last.(told).said
		if now == last {
			return now.said
		}
	}
	now.said = ask(path, home, env)
	if known && now.said != "" {
		helps.Store(path, now)
	}
	return now.said
}

// ask has the program say it.
func ask(path, home string, env []string) string {
	ctx, cancel := context.WithTimeout(context.Background(), helpTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--help")
	cmd.Env, cmd.Dir = append(slices.Clone(env), "PATH="+os.Getenv("PATH")), home
	cmd.WaitDelay = helpWait
	said := lines.Head{Most: maxHelp}
	cmd.Stdout, cmd.Stderr = &said, &said
	if cmd.Run() != nil {
		return ""
	}
	return said.String()
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
