package checks

import (
	"errors"
	"fmt"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/secret"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

var secretCheck = Check{
	Name: "secret",
	Doc: "Refuses keys, tokens and passwords wherever git keeps text, in content, names of files and refs, messages, names, mails and " +
		"headers, removed again later in the push or not: once pushed, they are in every clone. Allow-comments and configuration in " +
		"the tree have no effect.",
	Ref: func(r *Run, u push.Update) {
		if u.New == git.Zero {
			return // it may go
		}
		r.secretsIn(diag.Pos{}, u.Ref, "the name of the ref", u.Ref, "name it otherwise; and revoke it if it is real")
	},
	Tag: func(r *Run, t *Tag) {
		const hint = "make the tag again without it (git tag -f -a), and revoke it if it is real"
		pos := diag.Pos{Commit: t.ID}
		r.secretsIn(pos, t.Ref, "the name of the tag", t.Name, hint)
		r.secretsIn(pos, t.Ref, "the tagger", t.Tagger, hint)
		if int64(len(t.Message)) <= r.Config.Limits.MessageSize {
			r.secretsIn(pos, t.Ref, "the tag's message", t.Message, hint)
		}
	},
	Commit: func(r *Run, c *Commit) {
		pos := diag.Pos{Commit: c.ID}
		for _, ident := range []struct{ what, text string }{{"the author", c.Author}, {"the committer", c.Committer}} {
			if person, _, _ := strings.Cut(ident.text, ">"); !r.harmless[person] { // most commits of a push have the same
				r.harmless[person] = r.secretsIn(pos, c.Ref, ident.what, person, "git commit --amend --reset-author, with a plain user.name and user.email")
			}
		}
		const hint = "take it out (git rebase -i, reword) and revoke it if it is real"
		if int64(len(c.Header)) <= r.Config.Limits.MessageSize {
			for _, h := range c.Extra {
				r.secretsIn(pos, c.Ref, "the header "+h.Key, h.Key+" "+h.Value, hint)
			}
		}
		if int64(len(c.Message)) <= r.Config.Limits.MessageSize { // else refused already
			r.secretsIn(pos, c.Ref, "the commit message", c.Message, hint)
		}
	},
	Path: func(r *Run, c *Commit, change Change) {
		if change.Old.ID == "" { // the name is new
			r.secretsIn(at(c, change.Path), c.Ref, "the name of the file", change.Path, "rename it in every commit of the push (git rebase -i), and revoke it if it is real")
		}
	},
	Names: func(r *Run, c *Commit, dir string, entries []git.Entry, in []uint16) {
		for i, e := range entries {
			if in[i] == 0 && e.ID == emptyTree { // it has no paths that Path would see
				r.secretsIn(at(c, dir+e.Name), c.Ref, "the name of the directory", dir+e.Name, "rename it, and revoke it if it is real")
			}
		}
	},
	Blob: func(r *Run, c *Commit, change Change, data []byte) {
		found := r.scan(at(c, change.Path), c.Ref, change.Path, data)
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

// secretsIn searches a text that has no lines to name, and reports whether it is
// harmless.
func (r *Run) secretsIn(pos diag.Pos, ref, what, text, hint string) (harmless bool) {
	found := r.scan(pos, ref, "", []byte(text))
	for _, f := range found {
		where := what
		if strings.Contains(text, "\n") || strings.HasSuffix(what, "message") {
			where = fmt.Sprintf("line %d of %s", f.Line, what)
		}
		r.Report(diag.Diagnostic{Pos: pos, Ref: ref, Rule: "secret/" + f.Rule, Message: where + " looks like a secret: " + f.Description, Hint: hint})
	}
	return len(found) == 0
}

// scan searches data; over the budget it reports that instead.
func (r *Run) scan(pos diag.Pos, ref, path string, data []byte) []secret.Finding {
	found, err := r.secrets.Scan(path, data)
	if errors.Is(err, secret.ErrBudget) {
		r.Report(diag.Diagnostic{Pos: pos, Ref: ref, Rule: "limit/secret-scan",
			Message: fmt.Sprintf("searching the push for secrets takes more than %d bytes of work", r.Config.Limits.SecretScan),
			Hint:    "push in smaller parts; the host admin sets [limits] secret_scan"})
	}
	return found
}

// secretHint says what the pusher can do: only the PM can pass a false positive.
func (r *Run) secretHint(rule, path string) string {
	const remove = "take it out of every commit of the push (git rebase -i) and revoke it if it is real"
	if r.Principal != push.PM {
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

// redact takes secrets out of the findings themselves: a path, a ref or a quoted
// word may hold one, and findings go to terminals and logs.
func (r *Run) redact() {
	if len(r.result.Findings) == 0 {
		return
	}
	var texts []*string
	for i := range r.result.Findings {
		d := &r.result.Findings[i]
		texts = append(texts, &d.Path, &d.Ref, &d.Message, &d.Hint)
	}
	secret.Redact(texts...)
}
