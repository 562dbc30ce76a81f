package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// worker is the program or model that works, with the key that the launch gets in its
// environment, never in a file.
type worker struct {
	config.Worker
	path string // of a Program: where PATH has it; "" where npm brings it
	key  []string
}

func (w worker) String() string {
	switch {
	case w.Name == "script":
		return "A script"
	case w.path != "":
		return w.Name + " (" + diag.Word(w.path) + ")"
	}
	return w.Name
}

// keys are the variables that may hold a provider's key, and the one that a launch reads. A
// `claude setup-token` token counts as a key.
var keys = map[config.Provider][]string{
	config.Anthropic: {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"},
	config.OpenAI:    {"OPENAI_API_KEY"},
}

// keyOf is a provider's key as a launch's environment.
func keyOf(p config.Provider, getenv func(string) string) []string {
	for _, name := range keys[p] {
		if value := getenv(name); value != "" {
			return []string{keys[p][0] + "=" + value}
		}
	}
	return nil
}

// find finds the worker: the one that the person named, or a program with a key here, one on
// PATH first. If something is missing, the error says how to get it.
func find(o options, getenv func(string) string) (worker, error) {
	if o.script != "" {
		o.model = "script"
	}
	var usable []worker
	missing := []string{}
	for _, w := range config.Workers() {
		if o.model != "" && w.Name != o.model || o.model == "" && (w.Kind != config.Program || w.NeedsID && o.id == "") {
			continue
		}
		if found, lack := examine(w, o, getenv); lack == "" {
			usable = append(usable, found)
		} else {
			missing = append(missing, lack)
		}
	}
	for _, w := range usable {
		if w.path != "" || w.Kind != config.Program {
			return w, nil
		}
	}
	if len(usable) > 0 {
		return usable[0], nil
	}
	if o.model != "" && len(missing) == 0 {
		return worker{}, diag.Hint(fmt.Errorf("there is no model %s", diag.Word(o.model)), "one of %s", config.WorkerNames())
	}
	return worker{}, diag.Hint(errors.New("no agent can work here: "+strings.Join(missing, "; ")),
		"set the key, or let a file play the model: --script FILE (docs/quickstart.md has one)")
}

// examine is a worker as found here, and what it lacks.
func examine(w config.Worker, o options, getenv func(string) string) (found worker, lack string) {
	found = worker{Worker: w}
	provider := w.ProviderOf(o.id)
	if w.NeedsID && o.id == "" {
		return found, w.Name + " needs --id MODEL, the model's name at the provider"
	}
	if w.Kind == config.Command {
		return found, w.Name + " needs a command, which docs/admin.md sets up"
	}
	if found.key = keyOf(provider, getenv); provider != "" && found.key == nil {
		lack = fmt.Sprintf("%s has no key (%s)", w.Name, strings.Join(keys[provider], " or "))
	}
	if w.Kind == config.Program {
		path, err := exec.LookPath(w.Program)
		if err == nil {
			found.path, err = filepath.EvalSymlinks(path)
		}
		if _, npm := exec.LookPath("npm"); err != nil && npm != nil && lack == "" {
			lack = fmt.Sprintf("%s is not on PATH, nor is npm, which brings it (npm install -g %s)", w.Program, w.Package)
		}
	}
	return found, lack
}

// bring copies the worker's program into a directory of its own, which the fence binds: the
// directory where it is installed may hold personal files.
func (t *trial) bring() (dir string, err error) {
	dir = filepath.Join(t.dir, "programs")
	for _, bin := range []string{"bin", "node_modules/.bin"} {
		if _, err := os.Stat(filepath.Join(dir, bin, t.worker.Program)); err == nil {
			return dir, nil
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return "", err
	}
	if native(t.worker.path) {
		return dir, copyProgram(t.worker.path, filepath.Join(dir, "bin", t.worker.Program))
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", diag.Hint(fmt.Errorf("%s is a script of node's, and npm, which has the native program, is not on PATH", t.worker.path),
			"install npm, or name another worker: --model NAME")
	}
	return dir, t.run("", cli.Raw(t.env.Stdout), cli.Raw(t.env.Stderr), npm, "install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", dir, t.worker.Package)
}

// native reports whether a file is a native executable.
func native(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = io.ReadFull(f, magic)
	return err == nil && bytes.Equal(magic, []byte("\x7fELF"))
}

// copyProgram copies a program to where every user can start it, under a temporary name until
// it is complete.
func copyProgram(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".copy-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o755), out.Sync(), out.Close())
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return os.Rename(out.Name(), to)
}
