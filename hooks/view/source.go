// Package view reads what people see of a repository: the state of each directive, what waits for
// whom, costs, and pushes. It reads refs and the host's files on what runs. Only Fetch changes
// anything. The terminal, the pages and the JSON output use the same data.
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

// Source is one repository: the bare one on the host, or a clone as last fetched. It is safe for
// concurrent use by a lock.
type Source struct {
	// Program is the path of git-ward, which makes reviews; set it before the first use.
	Program string

	repo     *git.Repo
	dir      string // git's common directory, which has the refs
	bare     bool
	names    branches.Names
	settings *config.Config

	held     bool   // see Hold
	at, runs string // the held version
	made     []byte // the result of maker, for Facts

	mu      sync.Mutex
	last    *Overview              // the last one made
	refs    *refs                  // the refs' data of last
	records map[string]*uow.Record // the newest record of each journal, by the journal's tip
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

// Hold freezes the source at the version that it reads next. A report describes one moment, and need
// not compare the refs for each page. A held source may be used by one goroutine only.
func (s *Source) Hold() { s.held = true }

// Bare reports whether this is the host's bare repository, which has more data than a clone.
func (s *Source) Bare() bool { return s.bare }

// Dir returns the repository's directory. Pages must not show it.
func (s *Source) Dir() string { return s.dir }

// Name returns the base name of the repository's directory, without ".git".
func (s *Source) Name() string {
	name := filepath.Base(s.dir)
	if name == ".git" {
		name = filepath.Base(filepath.Dir(s.dir))
	}
	return diag.Clean(strings.TrimSuffix(name, ".git"))
}

// Version returns a string that changes whenever something shown changes.
func (s *Source) Version(ctx context.Context) (string, error) {
	refs, run, err := s.version(ctx)
	if run != "" {
		return refs + "-" + run, err
	}
	return refs, err
}

// version returns the version of the refs and that of the host's files on what runs.
func (s *Source) version(ctx context.Context) (refs, run string, err error) {
	if s.held && s.at != "" {
		return s.at, s.runs, nil
	}
	list := []string{state.AuditRef, loop.VerdictsRef, lease.Prefix, s.names.ControlRef(), s.names.ProjectRef()}
	if !s.bare { // a clone by plain git may lack the audit
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

// read calls f with a new reader, which sees the newest refs. It holds the lock meanwhile.
func (s *Source) read(ctx context.Context, f func(*git.Reader) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo.Reader(ctx)
	defer r.Close()
	return f(r)
}

// desk reads the directives' state, with records from the cache.
func (s *Source) desk(r reading) (*standing.Snapshot, error) {
	refs := standing.Refs{Control: s.names.ControlRef(), Project: s.names.ProjectRef(), Work: s.names.Base() + "agent/"}
	return standing.Open(r, refs, func(tip string) (*uow.Record, error) { return s.record(r, tip) })
}
