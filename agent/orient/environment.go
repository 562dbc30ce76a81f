package orient

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/worktree"
)

// Environment is level 3: the probes and their results.
type Environment struct {
	Fence   string  `json:"fence"` // "podman and nftables", or "none"
	Results []Probe `json:"probes"`
}

// Probe is one attempt and its result.
type Probe struct {
	Area   string        `json:"area"` // file system, network, environment, sandbox
	What   string        `json:"what"`
	OK     bool          `json:"ok"`
	Detail string        `json:"detail"`
	Took   time.Duration `json:"took_ns"`
	needed bool          // work is impossible without it
}

// The areas.
const (
	fileSystem = "file system"
	network    = "network"
	variables  = "environment"
	sandbox    = "sandbox"
)

// probeTime bounds one attempt.
const probeTime = 10 * time.Second

func environment(ctx context.Context, o Options) *Environment {
	e := &Environment{Fence: "none"}
	e.files(ctx, o.Tree)
	e.network(ctx, o)
	e.variables(o)
	e.sandbox(ctx, o.Tree)
	return e
}

// try runs an attempt with a time limit and records its result.
func (e *Environment) try(ctx context.Context, area, what string, needed bool, f func(context.Context) (string, error)) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	start := time.Now()
	detail, err := f(ctx)
	if err != nil {
		detail = errorText(err)
	}
	e.Results = append(e.Results, Probe{area, what, err == nil, detail, time.Since(start), needed})
	return err == nil
}

// problems lists the failed probes without which no work is possible.
func (e *Environment) problems() (list []string) {
	for _, p := range e.Results {
		if p.needed && !p.OK {
			list = append(list, fmt.Sprintf("%s: %s: %s", p.Area, p.What, p.Detail))
		}
	}
	return list
}

// files writes, reads and removes a file in the clone's git directory, which is usually on the work
// tree's disk, and where it cannot be committed.
func (e *Environment) files(ctx context.Context, t *worktree.Tree) {
	dir := t.Dir
	if repo, err := t.Repo(ctx); err == nil {
		dir = repo.Dir
	}
	path := filepath.Join(dir, "ward-probe-"+rand.Text())
	data := bytes.Repeat([]byte("ward"), 1<<10)
	e.try(ctx, fileSystem, "write and sync 4 KiB", true, func(context.Context) (string, error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = f.Write(data)
		return "", errors.Join(err, f.Sync(), f.Close())
	})
	e.try(ctx, fileSystem, "read it back", true, func(context.Context) (string, error) {
		back, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(back, data) {
			err = errors.New("other bytes came back")
		}
		return "", err
	})
	e.try(ctx, fileSystem, "remove it", true, func(context.Context) (string, error) { return "", os.Remove(path) })
}

// network tries the git remote, which is the only channel, and the addresses in Connect.
func (e *Environment) network(ctx context.Context, o Options) {
	e.try(ctx, network, "the remote answers git", true, func(ctx context.Context) (string, error) {
		names, err := o.Tree.Branches(ctx)
		switch {
		case err != nil:
		case o.Bare != "": // its refs and objects are read directly
			_, err = git.Open(o.Bare).Ref(ctx, names.Control.Ref())
		default:
			_, err = o.Tree.Git(ctx, "ls-remote", "--quiet", "origin", names.Control.Ref())
		}
		return "", err
	})
	for _, address := range o.Connect {
		e.try(ctx, network, "connect to "+address, false, func(ctx context.Context) (string, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err != nil {
				return "", err
			}
			return "", conn.Close()
		})
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "HTTPS_PROXY"} {
		if value := o.Getenv(name); value != "" {
			e.Results = append(e.Results, Probe{Area: network, What: name + " leads to a gateway", OK: true})
		}
	}
}

// variables checks variables and programs that most work needs. It shows no values, because some are
// keys.
func (e *Environment) variables(o Options) {
	for _, name := range []string{"PATH", "HOME"} {
		p := Probe{Area: variables, What: name + " is set", OK: o.Getenv(name) != "", needed: true}
		if !p.OK {
			p.Detail = "it is not set"
		}
		e.Results = append(e.Results, p)
	}
	for _, name := range []string{"git", "sh", "go", "python3", "node", "make", "gcc", "curl"} {
		path, err := exec.LookPath(name)
		p := Probe{Area: variables, What: "the program " + name, OK: err == nil, Detail: path, needed: name == "git" || name == "sh"}
		if err != nil {
			p.Detail = "not on PATH"
		}
		e.Results = append(e.Results, p)
	}
}

// sandbox checks those promises of the fence that one process can check; git ward probe checks all.
// Outside a fence they fail, which is reported but is no problem.
func (e *Environment) sandbox(ctx context.Context, t *worktree.Tree) {
	held := e.try(ctx, sandbox, "no privileges can be gained", false, func(context.Context) (string, error) {
		return status("NoNewPrivs", "1")
	})
	held = e.try(ctx, sandbox, "no capability", false, func(context.Context) (string, error) {
		return status("CapEff", "0000000000000000")
	}) && held
	held = e.try(ctx, sandbox, "the system cannot be written", false, func(context.Context) (string, error) {
		for _, dir := range []string{"/", "/usr", "/etc"} {
			if err := refuses(dir); err != nil {
				return "", err
			}
		}
		return "", nil
	}) && held
	if remote := remoteOf(ctx, t); filepath.IsAbs(remote) {
		held = e.try(ctx, sandbox, "the remote's files cannot be written", false, func(context.Context) (string, error) {
			return "", refuses(filepath.Join(remote, "objects"))
		}) && held
		held = e.try(ctx, sandbox, "the host's settings are hidden", false, func(context.Context) (string, error) {
			if entries, _ := os.ReadDir(filepath.Join(remote, "ward")); len(entries) > 0 {
				return "", errors.New("ward/ can be read")
			}
			return "", nil
		}) && held
	}
	if held {
		e.Fence = "podman and nftables"
	}
}

// remoteOf returns the URL of the clone's remote, "" for none.
func remoteOf(ctx context.Context, t *worktree.Tree) string {
	repo, err := t.Repo(ctx)
	if err != nil {
		return ""
	}
	settings, _ := repo.Settings(ctx)
	if all := settings["remote.origin.url"]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// status compares a field of /proc/self/status (proc(5)) with want.
func status(name, want string) (string, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if key, value, _ := strings.Cut(line, ":"); key == name {
			if value = strings.TrimSpace(value); value != want {
				return "", fmt.Errorf("%s is %s", name, value)
			}
			return "", nil
		}
	}
	return "", fmt.Errorf("the kernel does not say %s", name)
}

// refuses returns nil if the directory is not writable.
func refuses(dir string) error {
	f, err := os.CreateTemp(dir, ".ward-probe-")
	if err != nil {
		return nil
	}
	f.Close()
	return errors.Join(fmt.Errorf("%s can be written", dir), os.Remove(f.Name()))
}
