// Package store does all of the agent's git work: a clone that follows main and takes reports,
// a clone for each directive, commits, pushes, and reading refusals.
//
// Refs of the remote are the only state (AGT-5). Clones are disposable: whatever state a kill,
// a full disk or a model left, the next use restores a clone from the refs, or makes it anew.
package store

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/process"
	"git-ward/protocols/boot"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// gitTimeout ends a hanging git child, such as a push to an unresponsive door. It is long,
// because a push waits for hooks and its turn at the door.
const gitTimeout = 15 * time.Minute

// Options say where the store's repositories are.
type Options struct {
	Bare       string // the remote, a bare repository on this machine; absolute
	State      string // the agent's state directory; absolute
	Door       string // the socket that pushes go through; "" pushes straight
	Executable string // of ward-agent, for the door; absolute
	Settings   string // the file of the host's settings, for the verbs that who works here calls; "" for none
	// Running is the branch that a watcher started the agent from, "" for none. It
	// keeps that working tree and main's, and may run from them.
	Running string
	// Redact removes secrets from texts for readers; may be nil.
	Redact func(string) string
	// Control names the control's and the project's branches; zero is main for both.
	Control config.Control
	// Folds says that the host folds messages from records into COMMS.md (MANY-2); else
	// reports and questions are pushed there.
	Folds bool
	// Late is called with what the host has not folded in time; may be nil.
	Late func(what string)
}

// Redact takes secrets out of a text.
func (w *Work) Redact(text string) string { return w.clone.store.redact(text) }

// redact takes secrets out of a text.
func (s *Store) redact(text string) string {
	if s.Redact == nil {
		return text
	}
	return s.Redact(text)
}

// Store is the agent's view of one remote. One process may use it at a time, which Lock
// ensures, and it is not safe for concurrent use.
type Store struct {
	Options
	name  string // names clones' directories: the remote's without .git
	main  *clone
	seen  Snapshot // what Look saw last, until watch reports a moved branch
	watch *git.Watch
	kept  map[uow.ID]*keeping
	// patience is how long to wait for the host to fold a message.
	patience time.Duration
	// pushOptions is whether the remote supports them, and so can answer in JSON.
	pushOptions bool
}

// Tag marks every child of an agent in its environment, so that the next agent
// finds what a kill -9 left running.
func Tag(state string) string { return git.AgentVariable + "=" + state }

// Open prepares <state>: the home directory and the clone of main.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{Options: o, name: repoName(o.Bare), patience: foldPatience}
	if s.Control.Branch == "" {
		s.Control = config.Default().Control
	}
	if _, err := os.Stat(filepath.Join(o.Bare, "HEAD")); err != nil {
		return nil, diag.Hint(fmt.Errorf("%s is not a bare repository: %w", o.Bare, err), "`git ward init --bare DIR` makes one")
	}
	s.main = &clone{store: s, dir: filepath.Join(o.State, "main", s.name)}
	if err := s.main.begin(ctx); err != nil {
		return nil, err
	}
	// git config decides, not a push error's text, which is prose.
	out, err := s.run(ctx, s.State, "config", "--file", filepath.Join(o.Bare, "config"),
		"--type=bool", "--default=false", "--get", "receive.advertisePushOptions")
	if err != nil {
		return nil, err
	}
	s.pushOptions = out == "true"
	return s, nil
}

// repoName is the last element of the remote's path.
func repoName(bare string) string {
	name := strings.TrimSuffix(filepath.Base(bare), ".git")
	if name == "" || name == "." || name == "/" {
		return "repo"
	}
	return name
}

// Environ is the whole environment of the agent's children, git and a model's
// commands alike: the agent's own is not inherited, and its home is its own.
func (s *Store) Environ() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + s.home(),
		"LANG=C.UTF-8",
		"TZ=UTC",
		"TERM=dumb",
		"SHELL=/bin/bash",
		"PAGER=cat",
		"GIT_PAGER=cat",
		"GIT_EDITOR=true", // nobody is there to type
		"GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_NOSYSTEM=1",
		// An import writes no __pycache__ into the tree: a project need not ignore it.
		"PYTHONPYCACHEPREFIX=" + filepath.Join(s.home(), ".cache", "python"),
		// A damaged clone must not be taken for part of a surrounding repository.
		"GIT_CEILING_DIRECTORIES=" + s.State,
		Tag(s.State),
	}
	if s.Settings != "" {
		env = append(env, config.Var+"="+s.Settings)
	}
	if os.Getenv(boot.StdVar) != "" { // whatever a program's home is
		env = append(env, "GOCACHE="+s.goCache())
	}
	// The proxies are the gateway's, which is the only way out in allow-list mode.
	// Whose lease the worker has says on what it may speak.
	for _, name := range []string{boot.LeaseVar, "TMPDIR", "USER", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (s *Store) home() string { return filepath.Join(s.State, "home") }

// writeHome writes the git settings for all of the agent's repositories. In the container the
// remote belongs to another user, so it needs safe.directory.
func (s *Store) writeHome() error {
	if err := os.MkdirAll(s.home(), 0o755); err != nil {
		return err
	}
	_ = linkStd(os.Getenv(boot.StdVar), s.goCache()) // Go compiles what is not there
	if err := process.WriteProfile(s.home(), os.Getenv("PATH")); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(s.Bare) // git compares the resolved path
	if err != nil {
		return err
	}
	return put(filepath.Join(s.home(), ".gitconfig"), formatConfig([]setting{
		{"safe", "", "directory", real},
		{"user", "", "name", record.AgentName},
		{"user", "", "email", record.AgentMail},
		{"init", "", "defaultBranch", "main"},
		{"pull", "", "rebase", "true"},
		{"advice", "", "detachedHead", "false"},
	}))
}

// run runs git in dir and returns its output without the last newline.
func (s *Store) run(ctx context.Context, dir string, args ...string) (string, error) {
	out, _, err := s.runInput(ctx, dir, "", args...)
	return strings.TrimSuffix(out, "\n"), err
}

// runInput runs git with input and returns its complete output.
func (s *Store) runInput(ctx context.Context, dir, input string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	return s.finish(ctx, git.Command(ctx, dir, s.Environ(), args...), input, args[0])
}

// finish runs git, which what names in errors, to its end.
func (s *Store) finish(ctx context.Context, cmd *git.Child, input, what string) (stdout, stderr string, err error) {
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err != nil {
		err = git.ChildError(ctx, what, err, errs.Bytes())
	}
	return out.String(), errs.String(), err
}
