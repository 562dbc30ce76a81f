package store

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
)

// Trailers of the commit that ends the work on a directive. With them on the
// remote's branch the model is not asked again, whatever happens to the report.
const (
	trailerHash = "Ward-Directive-Hash"
	trailerWork = "Ward-Work"
	workDone    = "done"
)

// markerDepth is how many of the newest commits are searched for the trailers.
const markerDepth = 1000

// Work is the working clone of one directive.
type Work struct {
	Directive comms.Directive
	Branch    string // "agent/D-1"
	Done      *Done  // the completed work, if the remote has it

	// Record is the current unit's record, nil before Begin.
	Record *Record

	clone clone
	base  string // where the model started from
	since string // where the current iteration continues from
	tip   string // of the branch on the remote, as of what it is built upon; "" for none
	left  string // a remote tip from which a unit does not continue, by the PM's word
	raced bool   // somebody else moved branch or record, as of the last failed push

	tookUp string // a commit of the work with what was taken up and is not committed, "" for nothing
}

// Done is the commit that ended the work.
type Done struct {
	Commit string
	Text   string // the model's final text
}

// Dir is the working tree.
func (w *Work) Dir() string { return w.clone.dir }

// Work prepares the working clone of a directive: its branch as the remote has
// it, with main merged in where that goes without conflicts; else main.
func (s *Store) Work(ctx context.Context, d comms.Directive) (*Work, error) {
	w := &Work{Directive: d, Branch: "agent/" + d.Name()}
	w.clone = clone{store: s, dir: filepath.Join(s.State, "agent", d.Name(), s.name), directive: d.Name()}
	if s.Running == w.Branch { // the process runs from files there
		w.clone.dir = filepath.Join(s.State, asideDir, d.Name(), s.name)
	}
	if err := w.prepare(ctx); err == nil || ctx.Err() != nil {
		return w, err
	}
	// The clone was damaged. What counts is at the remote.
	if err := removeAll(w.clone.dir); err != nil {
		return nil, err
	}
	return w, w.prepare(ctx)
}

// asideDir has the working clone of the branch from which the process runs.
const asideDir = ".aside"

// RemoveAside removes what was set aside.
func (s *Store) RemoveAside() error { return removeAll(filepath.Join(s.State, asideDir)) }

// NotPushed is the end of work that the remote refused, so many times; findings are
// those of the last time.
func (w *Work) NotPushed(times int, findings string) *stop.Stop {
	often := ""
	if times > 1 {
		often = fmt.Sprintf(" %d times", times)
	}
	return stop.New(stop.Blocked, "%s was refused%s, so the work is not on the server. The last refusal:\n\n%s", w.Branch, often, diag.Indent(findings))
}

func (w *Work) prepare(ctx context.Context) error {
	if err := w.clone.begin(ctx); err != nil {
		return err
	}
	if err := w.clone.fetch(ctx); err != nil {
		return err
	}
	main, err := w.clone.resolve(ctx, w.clone.store.projectRef())
	if err != nil {
		return err
	}
	tip, err := w.clone.remote(ctx, w.Branch)
	if err != nil {
		return err
	}
	start := tip
	if w.tip = tip; tip == "" {
		start = main
	}
	if w.Done, err = w.findDone(ctx, start); err != nil {
		return err
	}
	w.base = start
	if err := w.reset(ctx, start); err != nil || w.Done != nil {
		return err
	}
	if tip != "" {
		if err := w.mergeMain(ctx, tip, main); err != nil {
			return err
		}
	}
	w.base, err = w.clone.resolve(ctx, "HEAD")
	w.since = cmp.Or(w.since, w.base)
	return err
}

// reset sets branch, index and working tree to exactly commit. It deletes the index first,
// because a kill may have truncated it and a model may have marked files as unchanged;
// likewise an unfinished rebase, and local attributes.
func (w *Work) reset(ctx context.Context, commit string) error {
	w.tookUp = ""
	if w.Record != nil {
		w.clone.store.keepingOf(w.Record.id).mine.Store(false)
	}
	git, err := os.OpenRoot(w.clone.gitDir())
	if err != nil {
		return err
	}
	defer git.Close()
	for _, name := range []string{"index", "rebase-merge", "rebase-apply", "sequencer", "info", "hooks"} {
		if err := git.RemoveAll(name); err != nil {
			return err
		}
	}
	before, err := os.ReadDir(w.clone.dir)
	if err != nil {
		return err
	}
	if _, err := w.clone.git(ctx, "checkout", "--quiet", "--force", "--no-track", "-B", w.Branch, commit, "--"); err != nil {
		return err
	}
	if len(before) > 1 { // else there was nothing but .git
		if _, err := w.clone.git(ctx, "clean", "-ffdxq"); err != nil {
			return err
		}
	}
	if w.Record == nil {
		return nil
	}
	return w.Record.Show(ctx, w.Record.shown...)
}

// mergeMain merges the current main into older work. A conflict leaves the branch as it is:
// the model may resolve it, this code may not guess.
func (w *Work) mergeMain(ctx context.Context, tip, main string) error {
	if has, err := w.clone.isAncestor(ctx, main, tip); has || err != nil {
		return err
	}
	if _, err := w.clone.git(ctx, "merge", "--quiet", "--no-edit", "-m", "agent: merge main into "+w.Branch, main); err != nil {
		return w.reset(ctx, tip)
	}
	return nil
}

// findDone searches a history's newest commits for the completed work on the directive's
// present text. It searches main as well, because the PM may have merged and deleted the
// branch before the report.
func (w *Work) findDone(ctx context.Context, tip string) (*Done, error) {
	out, err := w.clone.git(ctx, "log", "-z", fmt.Sprintf("--max-count=%d", markerDepth), "--no-show-signature",
		"--no-notes", "--format=%H%n%B", tip, "--")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		id, message, _ := strings.Cut(entry, "\n")
		if hasTrailer(message, trailerWork, workDone) && hasTrailer(message, record.TrailerDirective, w.Directive.Name()) &&
			hasTrailer(message, trailerHash, w.Directive.Hash()) {
			return &Done{id, messageBody(message)}, nil
		}
	}
	return nil, nil
}

func hasTrailer(message, key, value string) bool {
	values := git.Trailers(message, key)
	return len(values) == 1 && values[0] == value
}

// hasAny reports whether a message has one of the trailers.
func hasAny(message string, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return len(git.Trailers(message, key)) > 0 })
}

// messageBody is a commit message without its subject and its trailers.
func messageBody(message string) string {
	_, body, _ := strings.Cut(strings.TrimSpace(message), "\n\n")
	if i := strings.LastIndex(body, "\n\n"); i >= 0 {
		return strings.TrimSpace(body[:i])
	}
	return ""
}
