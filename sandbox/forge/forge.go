// Package forge keeps a guarded repository and a project on a forge in step (FORGE-1 to
// FORGE-6). A pass reads refs and forge, and makes what follows of the two: the project's
// branches come here through the gate, an issue that was approved becomes a directive, a
// claim becomes a draft request, a verdict becomes a status on exactly its commit.
//
// Each thing has one owner. The forge owns the project's branches and tags, Ward owns agent/*
// and refs/ward/*; so nothing conflicts, and nothing is forced.
//
// What is known from one pass to the next is in refs below refs/ward/forge. Each call that
// changes something is written there as an intent first, then read back, then made: a pass
// that is killed anywhere is made again, and makes nothing twice.
package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/protocols/review"
	"git-ward/protocols/standing"
	"git-ward/protocols/state"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/forge/setup"
	"git-ward/sandbox/forge/wake"
)

// Syncer keeps one repository and one project in step.
type Syncer struct {
	Repo     *git.Repo // the bare repository, by its common directory
	Settings *config.Config
	Forge    client.Forge
	Git      func(login, clone string) git.HTTPRemote // how git reaches a repository on the forge
	Ward     Verbs
	Redact   func(string) string // removes secrets from posted texts
	Log      zerolog.Logger
	Calls    *client.Counter // counts Forge's calls
	Rung     func() bool     // whether a webhook came since it was asked last; nil: none does
	Dry      io.Writer       // not nil: nothing is done, and what would be is written there
}

// pass is one reading of both sides and the actions that follow.
type pass struct {
	*Syncer
	ctx       context.Context
	reader    *git.Reader
	self      client.Person
	project   client.Project
	desk      *standing.Snapshot
	positions []review.Position
	word      forge.Word
	wanted    map[string]bool // the intents of this pass, by ref
	mayNot    map[string]bool // who may not write, by login
	heads     map[string]bool // of the directives' open requests, whatever branch they are into
}

// ErrTrouble is for a pass that could not do everything; its Word has what and why.
var ErrTrouble = errors.New("something waits")

// Once makes one pass. What waits, and why, it leaves in forge.WordRef, and returns.
func (k *Syncer) Once(ctx context.Context) (forge.Word, error) {
	return k.look(ctx, 0, func(p *pass) error {
		for _, step := range []func() error{p.proposed, p.refresh, p.requested, p.ofPeople, p.recorded, p.sweep} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
}

// look fetches, acts, and reports. It waits at most patience for another process's pass to
// end.
func (k *Syncer) look(ctx context.Context, patience time.Duration, do func(p *pass) error) (forge.Word, error) {
	lock, err := flock.Within(ctx, filepath.Join(k.Repo.Dir, "refs"), flock.Exclusive, patience)
	if err != nil {
		if errors.Is(err, flock.ErrHeld) {
			lock.Close()
			err = diag.Hint(fmt.Errorf("another git ward forge is at work on this repository: %w", err), "let that one do it, or end it first")
		}
		return forge.Word{}, err
	}
	defer lock.Close()
	k.Ward.Lock = lock
	p := &pass{Syncer: k, ctx: ctx, reader: k.Repo.Reader(ctx), wanted: map[string]bool{}, mayNot: map[string]bool{}, heads: map[string]bool{}}
	defer func() { p.reader.Close() }()
	if before, _, old := p.before(); old == nil { // what this look does not come to stays as it was
		p.word = forge.Word{Stopped: before.Stopped, Beyond: before.Beyond, Proposed: before.Proposed}
	}
	err = p.run(do)
	if later, ok := errors.AsType[*client.ErrLater](err); ok {
		p.word.Until = later.At.UTC().Truncate(time.Second)
	}
	if err != nil && ctx.Err() == nil {
		p.trouble("", err)
		err = nil
	}
	calls, unchanged := k.Calls.Take()
	k.Log.Info().Int("troubles", len(p.word.Troubles)).Int64("calls", calls).Int64("unchanged", unchanged).Msg("looked")
	return p.word, errors.Join(err, p.tell())
}

func (p *pass) run(do func(p *pass) error) (err error) {
	if p.self, err = p.Forge.Self(p.ctx); err != nil {
		return p.remedied(err)
	}
	if err = p.elsewhere(); err != nil {
		return err
	}
	if p.project, err = p.Forge.Project(p.ctx); err != nil {
		return p.remedied(err)
	}
	if err = p.settled(); err != nil {
		return err
	}
	if err = p.fetched(); err == nil {
		err = p.refresh()
	}
	if err != nil {
		return err
	}
	return do(p)
}

// remedied says what to do about an error of the first calls, which ends the look. One that the
// forge is away for goes by itself.
func (p *pass) remedied(err error) error {
	if _, later := errors.AsType[*client.ErrLater](err); later {
		return err
	}
	remedy := setup.Remedy(err, p.Settings.Forge.TokenFile, p.self.Login)
	if _, moved := errors.AsType[*client.ErrMoved](err); moved {
		remedy += fmt.Sprintf(": git ward config --bare %s forge.url=URL", diag.Word(p.Ward.Bare))
	}
	return diag.Hint(err, "%s", remedy)
}

// refresh reads the refs again.
func (p *pass) refresh() error {
	p.reader.Close()
	p.reader = p.Repo.Reader(p.ctx) // a new child is sure to see the new refs and objects
	c := p.Settings.Control
	var err error
	p.desk, err = standing.Open(p.reader, standing.Refs{Control: c.Ref(), Project: c.ProjectRef(), Work: workPrefix}, nil)
	if err != nil {
		return err
	}
	history := func(tip string, commits []string) (state.Ancestry, error) {
		return p.reader.Lineage(tip, commits, standing.Taken)
	}
	broken := func(name string, err error) error { p.trouble(name, err); return nil }
	p.positions, err = p.desk.Positions(history, broken)
	return err
}

// position is a directive's state; ok is false if there is no such directive.
func (p *pass) position(name string) (review.Position, bool) {
	for _, at := range p.positions {
		if at.Name == name {
			return at, true
		}
	}
	return review.Position{}, false
}

// each continues with the next after an error about a single thing, which it records. An error
// of the forge as a whole ends the pass.
func (p *pass) each(of string, err error) error {
	var later *client.ErrLater
	switch {
	case err == nil || errors.Is(err, errDry):
		return nil
	case p.ctx.Err() != nil || errors.As(err, &later) && !later.One:
		return err
	}
	if errors.Is(err, client.ErrTooMuch) {
		err = diag.Hint(err, "if strangers filled it, delete there what they wrote, and lock it for all who may not write")
	}
	p.trouble(of, err)
	return nil
}

func (p *pass) trouble(of string, err error) {
	why, remedy := diag.Cut(diag.Clean(err.Error()), 500), strings.Join(diag.Hints(err), "; ")
	said := forge.Trouble{Of: of, Why: diag.Untrusted(why), Remedy: diag.Untrusted(diag.Cut(remedy, 500))}
	if slices.Contains(p.word.Troubles, said) {
		return
	}
	p.Log.Warn().Str("of", of).Msg(why)
	p.word.Troubles = append(p.word.Troubles, said)
}

// before is the last pass's report and its ref's old value; an unreadable report is empty.
func (p *pass) before() (forge.Word, string, error) {
	w, old, err := load[forge.Word](p, forge.WordRef)
	if err != nil && old != git.Zero && p.ctx.Err() == nil {
		p.Log.Warn().Msg(diag.Clean(err.Error()))
		return forge.Word{}, old, nil
	}
	return w, old, err
}

// maxSaidOf bounds how many troubles, and how many refs, a word names, and maxSaidBytes what the
// names and words of either take, so that load reads it.
const (
	maxSaidOf    = 500
	maxSaidBytes = maxRecord / 12 // as JSON escapes it, of three, and with the marks
)

// few is the beginning of a list and how many more there are.
func few[T any](list []T, size func(T) int) ([]T, int) {
	bytes := 0
	for i, v := range list {
		if bytes += size(v); i == maxSaidOf || bytes > maxSaidBytes {
			return list[:i], len(list) - i
		}
	}
	return list, 0
}

// maxBeyond bounds how many refs more are known to have been refused.
const maxBeyond = 20_000

// bound leaves what status can show. Of the refs that it does not name there are marks, so that
// they are not tried again as long as they are the same.
func bound(w forge.Word) forge.Word {
	named, _ := few(w.Stopped, func(s forge.Stopping) int { return len(s.Ref) + len(s.Why) })
	for _, s := range w.Stopped[len(named):] {
		if !s.Again {
			w.Beyond = append(w.Beyond, mark(s.Ref, s.Commit))
		}
	}
	w.Stopped, w.Beyond = named, w.Beyond[:min(len(w.Beyond), maxBeyond)]
	w.Proposed, _ = few(w.Proposed, func(o forge.Offer) int { return len(o.Title) })
	var more int
	w.Troubles, more = few(w.Troubles, func(t forge.Trouble) int { return len(t.Of) + len(t.Why) + len(t.Remedy) })
	if more > 0 {
		w.Troubles = append(w.Troubles, forge.Trouble{Why: diag.Untrusted(fmt.Sprintf("and %d troubles more", more))})
	}
	return w
}

// mark stands for a ref at a commit, in few bytes.
func mark(ref, commit string) string { return git.BlobID([]byte(commit + " " + ref))[:16] }

// tell leaves the pass's word where status reads it, if it is another than the one before.
func (p *pass) tell() error {
	if p.Dry != nil || p.ctx.Err() != nil {
		return nil
	}
	before, old, err := p.before()
	if err != nil {
		return err
	}
	if p.word.Stuck() {
		if p.word.Since = before.Since; p.word.Since.IsZero() {
			p.word.Since = time.Now().UTC().Truncate(time.Second)
		}
	} else if len(p.word.Proposed) == 0 {
		if old == git.Zero {
			return nil
		}
		return p.move(git.RefUpdate{Ref: forge.WordRef, Old: old, New: git.Zero})
	}
	return p.save(forge.WordRef, old, bound(p.word))
}

// Serve makes a pass whenever it is time, a ref moved, or a webhook came, until ctx ends.
func (k *Syncer) Serve(ctx context.Context) error {
	watch := k.Repo.Watch(k.Settings.Control.Ref(), "refs/ward/uow/", "refs/notes/certificates", workPrefix)
	for {
		word, err := k.Once(ctx)
		if ctx.Err() != nil {
			return nil
		}
		next := time.Now().Add(k.Settings.Forge.Poll.Duration)
		switch {
		case errors.Is(err, flock.ErrHeld): // a take, which is short
			next = time.Now().Add(lookInterval)
			k.Log.Info().Msg("another is at work")
		case err != nil:
			k.Log.Error().Msg(diag.Clean(err.Error()))
		}
		if word.Until.After(next) {
			next = word.Until
		}
		k.Log.Info().Time("at", next).Msg("next look")
		looked := time.Now()
		rung := func() bool { return k.Rung != nil && time.Since(looked) >= wake.Rest && k.Rung() }
		if _, err := watch.Wait(ctx, lookInterval, next, rung); err != nil {
			return nil
		}
		if now := time.Now(); word.Until.After(now) { // a moved ref does not shorten a back-off
			if err := wait(ctx, word.Until.Sub(now)); err != nil {
				return nil
			}
		}
	}
}

// takePatience is how long a take waits for a serving process's pass, which may take as long
// as the forge's answers.
const takePatience = 10 * time.Minute

// lookInterval is the interval between readings of the refs.
const lookInterval = time.Second

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("waiting: %w", ctx.Err())
	case <-t.C:
		return nil
	}
}
