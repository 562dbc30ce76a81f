// Package view has what people see of a repository: the state of each directive, what waits
// for whom, costs, and pushes. It reads refs, and the files that the host keeps for watchers;
// it changes nothing and never fetches. Terminal, pages and JSON use the same data.
package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"git-ward/internal/branches"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/runstate"
	"git-ward/protocols/lease"
	"git-ward/protocols/loop"
	"git-ward/protocols/standing"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Source is one repository: the bare one on the host, or a clone as last fetched. It is safe
// for concurrent use; callers take turns.
type Source struct {
	// Program is the path of git-ward, which makes reviews; set it before the first use.
	Program string

	repo     *git.Repo
	dir      string // with the refs: a linked working tree's is its repository's
	bare     bool
	names    branches.Names
	settings *config.Config

	held     bool   // it stays as it is at its next look
	at, runs string // the version then
	made     []byte // what makes pages of it: Facts

	mu      sync.Mutex
	last    *Overview              // of the last look
	refs    *refs                  // what the refs said then
	records map[string]*uow.Record // by their commits: the tips of journals
	notes   notes

	reviews reviews
}

// Open opens a repository that internal/git has found.
func Open(ctx context.Context, repo *git.Repo) (*Source, error) {
	out, err := repo.Output(ctx, "rev-parse", "--is-bare-repository", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	bare, dir, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	s := &Source{repo: git.Open(dir), dir: dir, bare: bare == "true", settings: config.Default(),
		records: map[string]*uow.Record{}}
	if s.names, err = branches.Of(ctx, s.repo); err != nil {
		return nil, err
	}
	if s.bare {
		if _, err := os.Stat(filepath.Join(dir, config.Path)); errors.Is(err, fs.ErrNotExist) {
			return nil, diag.Hint(fmt.Errorf("%s is a bare repository that Ward does not guard: it has no %s", dir, config.Path), "git ward init %s", dir)
		}
		if s.settings, err = config.Load(dir); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Close releases what was read.
func (s *Source) Close() {}

// Hold makes the source stay as it is at its next look: a report is of one moment, and need
// not ask for each of its pages whether that has passed. It is then for one goroutine.
func (s *Source) Hold() { s.held = true }

// Bare reports whether this is the host's bare repository, which has more information than a
// clone.
func (s *Source) Bare() bool { return s.bare }

// Dir is the repository's directory, for commands and for those who look at what runs: it
// is not for pages.
func (s *Source) Dir() string { return s.dir }

// Name is the repository's, without the directories above it.
func (s *Source) Name() string {
	name := filepath.Base(s.dir)
	if name == ".git" {
		name = filepath.Base(filepath.Dir(s.dir))
	}
	return diag.Clean(strings.TrimSuffix(name, ".git"))
}

// Version is a stamp of everything shown: equal versions mean that nothing has changed.
func (s *Source) Version(ctx context.Context) (string, error) {
	refs, run, err := s.version(ctx)
	if run != "" {
		return refs + "-" + run, err
	}
	return refs, err
}

// version is that of the refs, and of what runs.
func (s *Source) version(ctx context.Context) (refs, run string, err error) {
	if s.held && s.at != "" {
		return s.at, s.runs, nil
	}
	list := []string{state.AuditRef, loop.VerdictsRef, lease.Prefix, s.names.ControlRef(), s.names.ProjectRef()}
	if !s.bare { // a clone by plain git may have no audit
		list = append(list, uow.RefPrefix, s.names.Base()+"agent/")
	}
	out, err := s.repo.Output(ctx, append([]string{"for-each-ref", "--format=%(objectname) %(refname)"}, list...)...)
	if err != nil {
		return "", "", err
	}
	if len(out) == 0 {
		return "", "", diag.Hint(fmt.Errorf("%s has none of Ward's refs", s.Name()), "is the repository there, and one of Ward's?")
	}
	if s.bare {
		run = runstate.Version(s.dir)
	}
	sum := sha256.Sum256(out)
	refs = hex.EncodeToString(sum[:8])
	if s.held {
		s.at, s.runs = refs, run
	}
	return refs, run, nil
}

// read gives a fresh reader, which surely sees the newest refs, to one who reads at a time.
func (s *Source) read(ctx context.Context, f func(*git.Reader) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo.Reader(ctx)
	defer r.Close()
	return f(r)
}

// desk reads where the directives stand; records that were read are kept.
func (s *Source) desk(r reading) (*standing.Snapshot, error) {
	refs := standing.Refs{Control: s.names.ControlRef(), Project: s.names.ProjectRef(), Work: s.names.Base() + "agent/"}
	return standing.Open(r, refs, func(tip string) (*uow.Record, error) { return s.record(r, tip) })
}
