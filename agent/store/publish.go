package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// textSize bounds the model's last words in a commit message.
const textSize = 8 << 10

// Publish commits all that the working tree holds and pushes the branch. With
// done the commit ends the work: it is made even when nothing changed, and Done
// is set when the remote has it. text goes into its message.
//
// Its error is stop.Refused when the model can mend it.
func (w *Work) Publish(ctx context.Context, text string, done bool) error {
	if err := w.clone.ensure(ctx); err != nil { // a model may have changed settings
		return err
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	text = cleanLines(diag.Cut(text, textSize))
	if err := w.commit(ctx, text, done); err != nil {
		return err
	}
	err := w.deliver(ctx, text, done)
	if stop.Is(err, stop.Refused) {
		// What is refused may be a commit, and a commit cannot be mended by one on
		// top of it.
		if undoErr := w.undo(ctx); undoErr != nil {
			return undoErr
		}
	}
	return err
}

// deliver pushes the branch, and after a lost race once more.
func (w *Work) deliver(ctx context.Context, text string, done bool) error {
	return git.Update(ctx, w.race("pushed"), func() (bool, error) {
		head, err := w.clone.resolve(ctx, "HEAD")
		if err != nil {
			return false, err
		}
		pushErr := w.clone.push(ctx, head, w.Branch)
		if pushErr == nil {
			w.tip = head
			if done {
				w.Done = &Done{head, text}
			}
			return true, nil
		}
		return w.settle(ctx, head, pushErr)
	})
}

// race is for what others may do to the branch meanwhile.
func (w *Work) race(done string) git.Race {
	return git.Race{What: w.Branch + " on the remote", While: "it was " + done}
}

// ready takes all that the working tree holds into the index.
func (w *Work) ready(ctx context.Context) error {
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

// committable refuses a working tree that cannot be committed as it is meant.
func (w *Work) committable(ctx context.Context) error {
	head, err := w.clone.git(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && !git.SaidNo(err) {
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
	return nil
}

func refuse(format string, args ...any) error {
	return stop.Refuse(diag.Clean(fmt.Sprintf(format, args...)) + "\n")
}

// commit makes the commit that ends the work, or one of what there is so far.
func (w *Work) commit(ctx context.Context, text string, done bool) error {
	args := []string{"commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--file=-"}
	if done {
		args = append(args, "--allow-empty")
	} else if _, err := w.clone.git(ctx, "diff", "--cached", "--quiet"); err == nil {
		return nil
	}
	_, _, err := w.clone.store.runInput(ctx, w.clone.dir, w.message(text, done), args...)
	return err
}

// message is the commit message: the subject, the model's words, the trailers.
func (w *Work) message(text string, done bool) string {
	var b strings.Builder
	subject := "agent: " + w.Directive.Name() + " " + w.Directive.Title.String()
	b.WriteString(diag.Clean(diag.Cut(subject, 100)) + "\n\n")
	if text != "" {
		b.WriteString(text + "\n\n")
	}
	fmt.Fprintf(&b, "%s: %s\n%s: %s\n", trailerDirective, w.Directive.Name(), trailerHash, w.Directive.Hash())
	if done {
		fmt.Fprintf(&b, "%s: %s\n", trailerWork, workDone)
	}
	return b.String()
}

// cleanLines makes a model's words fit for a commit message: the hooks refuse what
// a reader cannot see.
func cleanLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(diag.Clean(strings.ReplaceAll(line, "\t", "    ")), " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// settle finds out why a push did not go through, by where the branch is now:
// settled when the remote has the end of the work after all; stop.Refused or trouble
// when nobody else moved it; else it is merged and worth another try.
func (w *Work) settle(ctx context.Context, head string, pushErr error) (settled bool, err error) {
	if ctx.Err() != nil {
		return false, pushErr
	}
	if err := w.clone.fetch(ctx); err != nil {
		return false, errors.Join(pushErr, err)
	}
	tip, err := w.clone.remote(ctx, w.Branch)
	if err != nil {
		return false, err
	}
	if tip == "" {
		return false, pushErr
	}
	// A push that was cut off after it arrived, or one of the agent before us.
	if w.Done, err = w.findDone(ctx, tip); err != nil || w.Done != nil || tip == head {
		return true, err
	}
	mine, err := w.clone.isAncestor(ctx, tip, head)
	if err != nil {
		return false, err
	}
	if mine {
		return false, pushErr
	}
	if _, err := w.clone.git(ctx, "merge", "--quiet", "--no-edit", tip); err != nil {
		return false, w.conflict(ctx, err)
	}
	return false, nil
}

// conflict gives up a merge with what somebody else pushed to the branch.
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

// undo takes back the commits that the remote does not have and leaves what they
// changed in the working tree.
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
