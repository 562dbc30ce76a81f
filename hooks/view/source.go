// Package view is what people see of a repository: where each directive stands, what waits
// for whom, what it cost, who pushed what. It reads refs, and beside them what the host
// keeps for those who look; it changes nothing and never fetches. Terminal, pages and JSON
// are made of the same data.
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

	"git-ward/hooks/audit"
	"git-ward/internal/branches"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/standing"
	"git-ward/protocols/uow"
)

// Source is one repository: the bare one on the host, or a clone as it was fetched. It may
// be used by several goroutines; they take turns.
type Source struct {
	repo     *git.Repo
	dir      string // with the refs: a linked working tree's is its repository's
	bare     bool
	names    branches.Names
	settings *config.Config

	mu      sync.Mutex
	last    *Overview              // of the last look
	records map[string]*uow.Record // by their commits: the tips of journals
	notes   notes
	reviews map[string]reviewed
}

// Open is a repository as internal/git found it.
func Open(ctx context.Context, repo *git.Repo) (*Source, error) {
	out, err := repo.Output(ctx, "rev-parse", "--is-bare-repository", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	bare, dir, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	s := &Source{repo: git.Open(dir), dir: dir, bare: bare == "true", settings: config.Default(),
		records: map[string]*uow.Record{}, reviews: map[string]reviewed{}}
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

// Close lets go of what was read.
func (s *Source) Close() {}

// Bare reports whether the repository is the host's own, where there is more to know.
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

// moves are the files below ward/ that change while something runs, on the host.
var moves = []string{"judging.json", "suite.json", "backpressure.json", "meter.json", "launch.lock"}

// Version names what there is to see: where two are equal, nothing is new.
func (s *Source) Version(ctx context.Context) (string, error) {
	refs := []string{audit.ChainRef, loop.VerdictsRef, s.names.ControlRef(), s.names.ProjectRef()}
	if !s.bare { // a clone by plain git may have no audit
		refs = append(refs, uow.RefPrefix, s.names.Base()+"agent/")
	}
	out, err := s.repo.Output(ctx, append([]string{"for-each-ref", "--format=%(objectname) %(refname)"}, refs...)...)
	if err != nil {
		return "", err
	}
	if len(out) == 0 {
		return "", diag.Hint(fmt.Errorf("%s has none of Ward's refs", s.Name()), "is the repository there, and one of Ward's?")
	}
	sum := sha256.New()
	sum.Write(out)
	if s.bare {
		s.stat(func(words string) { sum.Write([]byte(words)) })
	}
	return hex.EncodeToString(sum.Sum(nil))[:20], nil
}

// stat tells of the files that change while something runs.
func (s *Source) stat(tell func(string)) {
	files := make([]string, 0, len(moves))
	for _, name := range moves {
		files = append(files, filepath.Join(s.dir, "ward", name))
	}
	live, _ := filepath.Glob(filepath.Join(s.dir, "ward/live/*.jsonl"))
	for _, file := range append(files, live...) {
		if info, err := os.Stat(file); err == nil {
			tell(fmt.Sprintf("%s %d %d\n", filepath.Base(file), info.Size(), info.ModTime().UnixNano()))
		}
	}
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
func (s *Source) desk(r *git.Reader) (*standing.Desk, error) {
	refs := standing.Refs{Control: s.names.ControlRef(), Project: s.names.ProjectRef(), Work: s.names.Base() + "agent/"}
	return standing.Open(r, refs, func(tip string) (*uow.Record, error) { return s.record(r, tip) })
}
