package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/record"
)

// Base is the commit of the branch that the iteration at hand goes on from: what was
// claimed last, or where the branch left the project.
func (w *Work) Base() string { return w.since }

// findBase records where the current iteration continues from: the newest claim of the
// directive's units that the branch contains.
func (w *Work) findBase(ctx context.Context, units []*Journal) (err error) {
	for _, j := range slices.Backward(units) {
		claim := j.Claimed()
		if claim == nil {
			continue
		}
		if in, err := w.clone.isAncestor(ctx, claim.Claim.Commit, "HEAD"); err == nil && in { // a deleted commit is not contained
			w.since = claim.Claim.Commit
			return nil
		}
	}
	w.since, err = w.forked(ctx)
	return err
}

// Iterate makes one commit of all that the working tree holds, as the work of an
// iteration (REC-1), and returns the branch's newest commit, which is the one before
// where nothing changed. Its subject is the worker's own words where they are fit for
// one. The number is the iteration's in the journal. The error is stop.Refused where
// the tree cannot be committed.
func (w *Work) Iterate(ctx context.Context, number int, words string) (string, error) {
	if err := w.ready(ctx); err != nil {
		return "", err
	}
	trailers := []string{record.TrailerDirective + ": " + w.Directive.Name(), fmt.Sprintf("%s: %d", record.TrailerIteration, number)}
	if w.Record != nil && !w.Record.local {
		trailers = append(trailers, record.TrailerRecord+": "+w.Record.Ref())
	}
	if err := w.commit(ctx, message(w.subject(words), "", trailers), false); err != nil {
		return "", err
	}
	return w.Head(ctx)
}

// subject is the first line of a worker's final text if it is a one-line summary, else the
// directive's goal.
func (w *Work) subject(words string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(words), "\n")
	first = strings.TrimRight(strings.TrimSpace(first), ".")
	clean := w.clone.store.redact(first)
	if first == "" || len(first) > maxSubject || clean != first || diag.Clean(first) != first || strings.ContainsAny(first[:1], "#-*`<>|{[") {
		return w.Directive.Title.String()
	}
	return first
}
