package checks

import (
	"errors"
	"fmt"

	"git-ward/hooks/secret"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

var secretCheck = Check{
	Name: "secret",
	Doc: "Refuses keys, tokens and passwords in any new content, removed again later in the push or not: once " +
		"pushed, they are in every clone. Allow-comments and configuration in the tree have no effect.",
	Commit: func(r *Run, c *Commit) {
		if int64(len(c.Message)) > r.Config.Limits.MessageSize {
			return // refused already
		}
		for _, f := range r.scan(c, "", []byte(c.Message)) {
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID}, Ref: c.Ref, Rule: "secret/" + f.Rule,
				Message: fmt.Sprintf("line %d of the commit message looks like a secret: %s", f.Line, f.Description),
				Hint:    "take it out (git rebase -i, reword) and revoke it if it is real"})
		}
	},
	Blob: func(r *Run, c *Commit, change Change, data []byte) {
		found := r.scan(c, change.Path, data)
		if len(found) == 0 {
			return
		}
		// What an older version of the file published, this push does not add.
		for _, f := range secret.Fresh(found, r.before(change)) {
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID, Path: change.Path, Line: f.Line, Col: f.Col}, Ref: c.Ref,
				Rule: "secret/" + f.Rule, Message: "this looks like a secret: " + f.Description,
				Hint: r.secretHint(f.Rule, change.Path)})
		}
	},
}

// scan searches data; over the budget it reports that instead.
func (r *Run) scan(c *Commit, path string, data []byte) []secret.Finding {
	found, err := r.secrets.Scan(path, data)
	if errors.Is(err, secret.ErrBudget) {
		r.Report(diag.Diagnostic{Pos: at(c, path), Rule: "limit/secret-scan",
			Message: fmt.Sprintf("searching the push for secrets takes more than %d bytes of work", r.Config.Limits.SecretScan),
			Hint:    "push in smaller parts; the host admin sets [limits] secret_scan"})
	}
	return found
}

// secretHint says what the pusher can do: only the PM can pass a false positive.
func (r *Run) secretHint(rule, path string) string {
	const remove = "take it out of every commit of the push (git rebase -i) and revoke it if it is real"
	if r.Principal == Agent {
		return remove + "; if it is none, ask the PM in COMMS.md, Questions"
	}
	return remove + "; a false positive passes with git push -o ward.allow=secret/" + rule + ":" + path
}

// before is the content that a change replaces, if it can be had.
func (r *Run) before(change Change) []byte {
	if change.Old.ID == "" || change.Old.Mode == git.ModeGitlink {
		return nil
	}
	_, data, err := r.batch.Read(change.Old.ID, r.Config.Limits.BlobSize)
	if err != nil {
		return nil
	}
	return data
}
