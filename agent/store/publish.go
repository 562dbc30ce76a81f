package store

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
)

// textSize bounds the model's final text in a commit message.
const textSize = 8 << 10

// Publish commits all that the working tree holds, for work without a unit, and offers the
// branch. With done the commit ends the work: it is made even when nothing changed, and Done
// is set when the remote has it. text goes into its message.
//
// Its error is stop.Refused when the model can mend it.
func (w *Work) Publish(ctx context.Context, text string, done bool) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	text = cleanLines(diag.Cut(text, textSize))
	if err := w.commit(ctx, w.message(text, done), done); err != nil {
		return err
	}
	err := w.Offer(ctx)
	if stop.Is(err, stop.Refused) { // an earlier agent's push may have arrived and completed the work
		if tip, failed := w.clone.remote(ctx, w.Branch); failed == nil && tip != "" {
			if w.Done, failed = w.findDone(ctx, tip); failed == nil && w.Done != nil {
				return nil
			}
		}
	}
	if err == nil && done {
		w.Done = &Done{w.tip, text}
	}
	return err
}

// race merges what others push to the branch meanwhile.
func (w *Work) race(done string) git.Race {
	return git.Race{What: w.Branch + " on the remote", While: "it was " + done}
}

// ready adds the whole working tree to the index.
func (w *Work) ready(ctx context.Context) error {
	if err := w.clone.ensure(ctx); err != nil { // a model may have changed settings
		return err
	}
	if err := w.clone.exclude(); err != nil {
		return err
	}
	if err := w.clone.fetch(ctx); err != nil { // nor are its refs of the remote what a model says
		return err
	}
	if err := w.committable(ctx); err != nil {
		return err
	}
	if _, err := w.clone.git(ctx, "add", "--all"); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return refuse("the working tree cannot be committed: %v", err)
	}
	return nil
}

// committable refuses a working tree that cannot be committed as intended.
func (w *Work) committable(ctx context.Context) error {
	head, err := w.clone.repo().Head(ctx)
	if err != nil {
		return err
	}
	if head != "refs/heads/"+w.Branch {
		return refuse("the working tree is on %s, not on %s; take the work there: git checkout -B %s",
			cmp.Or(strings.TrimPrefix(head, "refs/heads/"), "no branch"), w.Branch, w.Branch)
	}
	unmerged, err := w.clone.git(ctx, "diff", "--cached", "--name-only", "--diff-filter=U")
	if err != nil {
		return err
	}
	if unmerged != "" {
		return refuse("a merge is not finished; resolve and git add: %s", strings.ReplaceAll(unmerged, "\n", ", "))
	}
	return w.holdsTip(ctx)
}

// holdsTip refuses a branch that does not contain the remote's tip. A model that amended or
// reset may have dropped other people's commits, which a push would remove.
func (w *Work) holdsTip(ctx context.Context) error {
	if w.tip == "" || w.tip == w.left {
		return nil
	}
	if holds, err := w.clone.isAncestor(ctx, w.tip, "HEAD"); err != nil || holds {
		return err
	}
	return refuse("%s does not hold %s any more, which the remote has: it was reset, or a commit amended. Commit, git merge %[2]s, and resolve; take back what was pushed by git revert",
		w.Branch, diag.Short(w.tip))
}

func refuse(format string, args ...any) error {
	return stop.Refuse(diag.Clean(fmt.Sprintf(format, args...)) + "\n")
}

// commit commits the index; without changes only if empty is set.
func (w *Work) commit(ctx context.Context, message string, empty bool) error {
	args := []string{"commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--file=-"}
	if empty {
		args = append(args, "--allow-empty")
	} else if _, err := w.clone.git(ctx, "diff", "--cached", "--quiet"); err == nil {
		w.tookUp = ""
		return nil
	}
	_, _, err := w.clone.store.runInput(ctx, w.clone.dir, message+"\n", args...)
	if err == nil {
		w.tookUp = ""
	}
	return err
}

// message is the commit message of work without a unit, whose trailers identify its end.
func (w *Work) message(text string, done bool) string {
	trailers := []string{record.TrailerDirective + ": " + w.Directive.Name(), trailerHash + ": " + w.Directive.Hash()}
	if done {
		trailers = append(trailers, trailerWork+": "+workDone)
	}
	return message("agent: "+w.Directive.Name()+" "+w.Directive.Title.String(), text, trailers)
}

// cleanLines makes a model's text fit for a commit message: the hooks refuse invisible
// characters.
func cleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(diag.Clean(strings.ReplaceAll(line, "\t", "    ")), " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// conflict aborts a merge with another push to the branch.
func (w *Work) conflict(ctx context.Context, mergeErr error) error {
	files, err := w.clone.git(ctx, "diff", "--name-only", "--diff-filter=U")
	if err != nil {
		return err
	}
	if _, err := w.clone.git(ctx, "reset", "--quiet", "--hard"); err != nil {
		return err
	}
	if files == "" {
		return mergeErr
	}
	return refuse("%s moved on the remote, and merging it has conflicts in %s; commit, git merge origin/%s, and resolve them",
		w.Branch, strings.ReplaceAll(files, "\n", ", "), w.Branch)
}

// undo drops unpushed commits and keeps their changes in the working tree.
func (w *Work) undo(ctx context.Context) error {
	base := w.base
	tip, err := w.clone.remote(ctx, w.Branch)
	if err != nil {
		return err
	}
	if tip != "" {
		newer, err := w.clone.isAncestor(ctx, base, tip)
		if err != nil {
			return err
		}
		mine, err := w.clone.isAncestor(ctx, tip, "HEAD")
		if err != nil {
			return err
		}
		if newer && mine {
			base = tip
		}
	}
	_, err = w.clone.git(ctx, "reset", "--quiet", "--soft", base)
	return err
}
