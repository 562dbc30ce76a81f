// Package redact takes a file that should never have been pushed, a key above all, out
// of every branch and every unit's record of a repository (REC-5). It makes the commits
// that have it anew, with a text in its place, moves the refs to them in one transaction,
// and leaves a tombstone beside the record in the audit: what went, why, and which commit
// each old one is now. Journals, verdicts and evidence stay as they are and name the
// commits of before; the tombstone explains them, and git ward fsck accepts both.
// The objects go with git ward maintain.
package redact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Request says what to redact.
type Request struct {
	Files []string // each REV:PATH, or the object id of a blob
	Why   string   // one line, for the tombstone and for whoever meets the text in its place
	Time  time.Time
	Try   bool // only say what would move
}

// Result says what was removed and which refs moved.
type Result struct {
	Objects []audit.Redacted
	Refs    []push.Update // by name
	Commits int           // that were, or would be, made anew
	Record  int64         // of the audit; 0 where nothing was done
}

// Refused says why a request cannot be carried out. Nothing was changed.
type Refused struct{ Why []string }

func (r *Refused) Error() string { return strings.Join(r.Why, "; ") }

func refused(hint string, why ...string) error {
	return diag.Hint(&Refused{why}, "%s", hint)
}

// Run carries out a request in a bare repository. The error is *Refused if that is not
// possible.
func Run(ctx context.Context, repo *git.Repo, req Request) (r *Result, err error) {
	err = git.Update(ctx, git.Race{What: "a branch", While: "all was made anew; pause what pushes", Tries: 5}, func() (_ bool, err error) {
		r, err = once(ctx, repo, req)
		return git.Swapped(err)
	})
	return r, err
}

func once(ctx context.Context, repo *git.Repo, req Request) (*Result, error) {
	batch := repo.Batch(ctx)
	defer batch.Close()
	w := &rewriter{ctx: ctx, repo: repo, batch: batch, stones: map[string]*stone{}, trees: map[string]string{}, commits: map[string]string{}}
	if err := w.name(req); err != nil {
		return nil, err
	}
	if err := w.history(!req.Try); err != nil {
		return nil, err
	}
	moves, err := w.moves()
	if err != nil {
		return nil, err
	}
	r := &Result{Objects: w.redacted(), Commits: len(w.commits)}
	for _, m := range moves {
		r.Refs = append(r.Refs, push.Update(m))
	}
	if req.Try {
		return r, nil
	}
	r.Record, err = w.record(req, moves)
	return r, err
}

// record moves the refs together with a record in the audit and its tombstone.
func (w *rewriter) record(req Request, moves []git.RefUpdate) (int64, error) {
	t := audit.Tombstone{Why: req.Why, Objects: w.redacted(), Commits: w.commits}
	data, err := t.Marshal()
	if err != nil {
		return 0, err
	}
	var gone []string
	for _, o := range t.Objects {
		gone = append(gone, o.Blob)
	}
	// Before the refs move: a listed object that still exists just cannot be pushed again.
	if err := audit.AddRedacted(w.repo, gone...); err != nil {
		return 0, err
	}
	id, err := w.repo.WriteObject("blob", data)
	if err != nil {
		return 0, err
	}
	r := &audit.Record{Time: req.Time.UTC().Truncate(time.Millisecond), Principal: string(push.PM), User: fmt.Sprint(os.Geteuid()),
		Verdict: audit.Accepted, Rules: []string{"redact/moved"}}
	r.Push = "redact-" + r.Time.Format("20060102T150405.000Z")
	a, err := audit.NewWriter(w.ctx, w.repo, w.batch)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	if err := a.Append(w.ctx, audit.Entry{Record: r, Tombstone: id, Move: &mover{w, moves}}); err != nil {
		return 0, err
	}
	return r.ID, nil
}

// mover moves the refs with their record, as long as they are what they were.
type mover struct {
	*rewriter
	moves []git.RefUpdate
}

// Move puts the moves into the record; git.ErrLostRace where one is another by now.
func (m *mover) Move(r *audit.Record) ([]git.RefUpdate, error) {
	r.Refs = nil
	for _, u := range m.moves {
		if now, err := m.repo.Ref(m.ctx, u.Ref); err != nil || now != u.Old {
			return nil, errors.Join(err, git.ErrLostRace)
		}
		if !push.IsHostOnly(u.Ref) {
			r.Refs = append(r.Refs, audit.Ref{Update: push.Update{Ref: audit.QuoteRef(u.Ref), Old: u.Old, New: u.New}, Applied: true})
		}
	}
	return m.moves, nil
}

// name finds the objects that are to go.
func (w *rewriter) name(req Request) error {
	for _, file := range req.Files {
		out, err := w.repo.Output(w.ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", file)
		id := strings.TrimSpace(string(out))
		if err != nil || !git.IsID(id) {
			return diag.Hint(fmt.Errorf("%s names nothing that is stored", diag.Clean(file)), "REV:PATH, such as main~3:deploy.env or refs/ward/record/D-1.1:transcripts/1.jsonl, or the id of a blob")
		}
		object, err := w.batch.Info(id)
		if err != nil {
			return err
		}
		if object.Kind != "blob" {
			return diag.Hint(fmt.Errorf("%s is a %s, not a file", diag.Clean(file), object.Kind), "name each file: REV:PATH")
		}
		text := fmt.Sprintf("This file was taken out of the history by the project's PM at %s: %s\n", req.Time.UTC().Format(time.RFC3339), req.Why)
		_, path, _ := strings.Cut(file, ":")
		w.stones[id] = &stone{path: path, text: text, id: git.BlobID([]byte(text))}
	}
	return nil
}

// redacted are the objects that went, by their ids.
func (w *rewriter) redacted() []audit.Redacted {
	var all []audit.Redacted
	for id, s := range w.stones {
		all = append(all, audit.Redacted{Blob: id, Path: diag.Clean(filepath.ToSlash(s.path)), Stone: s.id})
	}
	slices.SortFunc(all, func(a, b audit.Redacted) int { return strings.Compare(a.Blob, b.Blob) })
	return all
}
