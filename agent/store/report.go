package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
)

// Comms reads COMMS.md of a snapshot. A document with errors is not guessed at.
func (m Snapshot) Comms(ctx context.Context) ([]byte, *comms.Document, error) {
	doc, err := state.ReadComms(m.Files(ctx), m.Commit)
	if err != nil {
		return nil, nil, err
	}
	if doc.Data == nil {
		return nil, nil, m.missing(comms.Path)
	}
	if diag.HasErrors(doc.Findings) {
		found := slices.DeleteFunc(doc.Findings, func(d diag.Diagnostic) bool { return !d.IsError() })
		var b strings.Builder
		diag.WriteText(&b, found)
		err := fmt.Errorf("COMMS.md of %s (%s) cannot be read:\n%s", m.clone.store.Control.Branch, diag.Short(m.Commit), b.String())
		return nil, nil, diag.Hint(err, "mend COMMS.md and push; `git ward lint` checks it beforehand")
	}
	return doc.Data, doc.Document, nil
}

// Report puts a report at the end of control's COMMS.md. When control moves meanwhile it
// is put there again under the next id; when it has a report that closes or
// suspends the same version of the directive, that one counts and no second is
// made, so a run that was killed can be made again.
func (s *Store) Report(ctx context.Context, r comms.NewReport) error {
	return s.report(ctx, "", r)
}

// ReportOnce is Report for something that no directive asked for; control has one
// report of an incident at most, which its text names.
func (s *Store) ReportOnce(ctx context.Context, incident string, r comms.NewReport) error {
	r.Text = comms.WithIncident(r.Text, incident)
	return s.report(ctx, incident, r)
}

// Told reports whether control has a report of the agent's on a directive's incident.
func (s *Store) Told(ctx context.Context, directive, incident string) (bool, error) {
	m, err := s.Main(ctx)
	if err != nil {
		return false, err
	}
	_, doc, err := m.Comms(ctx)
	return err == nil && doc.HasIncident(comms.NewReport{Directive: directive}, incident), err
}

func (s *Store) report(ctx context.Context, incident string, r comms.NewReport) error {
	return s.say(ctx, reportWord(incident, r))
}

func reportWord(incident string, r comms.NewReport) word {
	return word{what: "the report on " + r.Directive, subject: fmt.Sprintf("comms: report %s %s", r.Directive, r.Status), directive: r.Directive,
		said: func(doc *comms.Document) bool {
			return incident == "" && reported(doc, r) || incident != "" && doc.HasIncident(r, incident)
		},
		message: r.Message,
		change:  r}
}

// Enclose puts a report on the record here, to go to the remote with its next push; Report
// then finds it there. It is false where the host does not fold, somebody else has written to the
// record since it was read, or COMMS.md has a report that counts in its place.
func (w *Work) Enclose(ctx context.Context, n comms.NewReport) (bool, error) {
	r := w.Record
	if !w.clone.store.Folds || r.local {
		return false, nil
	}
	there, err := git.Open(w.clone.store.Bare).Ref(ctx, r.Ref())
	if err != nil || there != cmp.Or(r.remote, git.Zero) {
		return false, err
	}
	m, err := w.clone.store.Look(ctx)
	if err != nil {
		return false, err
	}
	word := reportWord("", n)
	if _, doc, err := m.Comms(ctx); err != nil || word.said(doc) {
		return false, err
	}
	names, err := r.List(ctx, record.Messages)
	if err != nil {
		return false, err
	}
	text, err := word.text()
	if err != nil {
		return false, err
	}
	_, err = r.Commit(ctx, r.Message(word.subject, ""), "", map[string][]byte{record.MessagePath(len(names) + 1): text})
	return err == nil, err
}

// Ask puts a question into control's COMMS.md, once: one that stands there word for
// word for the same directive is not asked again.
func (s *Store) Ask(ctx context.Context, q comms.NewQuestion) error {
	return s.say(ctx, word{what: "the question on " + q.Directive, subject: "comms: question on " + q.Directive, directive: q.Directive,
		said: func(doc *comms.Document) bool {
			return slices.ContainsFunc(doc.Questions, func(old comms.Question) bool {
				return old.Directive == q.Directive && q.Is(old)
			})
		},
		message: q.Message,
		change:  q})
}

// amend adds a message to control's COMMS.md unless it is there. If control moves meanwhile it
// tries again on the new version.
func (s *Store) amend(ctx context.Context, w word) error {
	return git.Update(ctx, git.Race{What: s.Control.Branch, While: w.what + " was pushed"}, func() (bool, error) {
		m, err := s.Main(ctx)
		if err != nil {
			return false, err
		}
		data, doc, err := m.Comms(ctx)
		if err != nil || w.said(doc) {
			return true, err
		}
		amended, err := comms.Amend(data, w.change, comms.Share(""))
		if err != nil {
			return false, err
		}
		message := w.subject
		if len(amended.Removed) > 0 {
			message += "\n\n" + comms.PruneTrailers(amended.Removed)
		}
		commit, err := s.commitComms(ctx, m, amended.Data, message)
		if err != nil {
			return false, err
		}
		pushErr := s.main.push(ctx, commit, s.Control.Branch)
		if pushErr == nil || ctx.Err() != nil {
			return true, pushErr
		}
		now, err := s.Main(ctx)
		if err != nil {
			return false, errors.Join(pushErr, err)
		}
		if now.Commit == m.Commit {
			return false, fmt.Errorf("%s: %w", w.what, pushErr)
		}
		return false, nil
	})
}

// reported reports whether the document has an answer to this version of the directive; for
// other reports, whether it has one with the same beginning.
func reported(doc *comms.Document, r comms.NewReport) bool {
	if r.Status == comms.Info {
		first, _, _ := strings.Cut(r.Text, "\n")
		return slices.ContainsFunc(doc.Reports, func(old comms.Report) bool {
			begin, _, _ := strings.Cut(old.Text, "\n")
			return old.Status == comms.Info && old.Directive == r.Directive && strings.TrimSpace(begin) == strings.TrimSpace(first)
		})
	}
	return slices.ContainsFunc(doc.Reports, func(old comms.Report) bool {
		return old.Directive == r.Directive && old.DirectiveHash() == r.DirectiveHash &&
			(old.Status.Closes() || (old.Status.Suspends() && r.Status.Suspends()))
	})
}

// commitComms commits a changed COMMS.md on top of control. It writes objects only and does
// not use the working tree, so nothing from there can get into it.
func (s *Store) commitComms(ctx context.Context, m Snapshot, data []byte, subject string) (string, error) {
	batch := s.main.repo().Batch(ctx)
	defer batch.Close()
	return batch.Commit(record.AgentIdent, m.Commit, map[string][]byte{comms.Path: data}, time.Now(), subject)
}
