package checks

import (
	"errors"
	"fmt"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/secret"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
)

// newSecretCheck makes the check of one push: all its texts share one budget of work.
func newSecretCheck() Check {
	s := &secrets{harmless: map[string]bool{}}
	return Check{
		Name: "secret",
		Doc: "Refuses keys, tokens and passwords wherever git keeps text, in content, names of files and refs, messages, names, mails and " +
			"headers, removed again later in the push or not: once pushed, they are in every clone. Allow-comments and configuration in " +
			"the tree have no effect.",
		Rules: []string{"secret/*"},
		Ref:   s.ref, Tag: s.tag, Commit: s.commit, Path: s.path, Names: s.names, Blob: s.blob,
	}
}

// secrets searches a push for secrets.
type secrets struct {
	scanner  *secret.Scanner // made with the first text, because the settings say how much it may do
	harmless map[string]bool // authors and committers without a secret: most commits of a push have the same
}

// text is a text without line numbers, and its position.
type text struct {
	pos        diag.Pos
	ref        string
	what, text string
	hint       string
}

func (s *secrets) ref(pass *Pass, u push.Update) {
	if u.New != git.Zero { // else it may go
		s.search(pass, text{diag.Pos{}, u.Ref, "the name of the ref", u.Ref, "name it otherwise; and revoke it if it is real"})
	}
}

func (s *secrets) tag(pass *Pass, t *walk.Tag) {
	const hint = "make the tag again without it (git tag -f -a), and revoke it if it is real"
	pos := diag.Pos{Commit: t.ID}
	s.search(pass, text{pos, t.Ref, "the name of the tag", t.Name, hint})
	s.search(pass, text{pos, t.Ref, "the tagger", t.Tagger, hint})
	if int64(len(t.Message)) <= pass.Push.Config.Limits.MessageSize {
		s.search(pass, text{pos, t.Ref, "the tag's message", t.Message, hint})
	}
}

func (s *secrets) commit(pass *Pass, c *walk.Commit) {
	pos := diag.Pos{Commit: c.ID}
	for _, ident := range []struct{ what, text string }{{"the author", c.Author}, {"the committer", c.Committer}} {
		if person, _, _ := strings.Cut(ident.text, ">"); !s.harmless[person] {
			s.harmless[person] = s.search(pass, text{pos, c.Ref, ident.what, person, "git commit --amend --reset-author, with a plain user.name and user.email"})
		}
	}
	const hint = "take it out (git rebase -i, reword) and revoke it if it is real"
	if int64(len(c.Header)) <= pass.Push.Config.Limits.MessageSize {
		for _, h := range c.Extra {
			s.search(pass, text{pos, c.Ref, "the header " + h.Key, h.Key + " " + h.Value, hint})
		}
	}
	if int64(len(c.Message)) <= pass.Push.Config.Limits.MessageSize { // else refused already
		s.search(pass, text{pos, c.Ref, "the commit message", c.Message, hint})
	}
}

func (s *secrets) path(pass *Pass, c *walk.Commit, change walk.Change) {
	if change.Old.ID == "" { // the name is new
		s.search(pass, text{at(c, change.Path), c.Ref, "the name of the file", change.Path, "rename it in every commit of the push (git rebase -i), and revoke it if it is real"})
	}
}

func (s *secrets) names(pass *Pass, c *walk.Commit, dir string, entries []git.Entry, in []uint16) {
	for i, e := range entries {
		if in[i] == 0 && e.ID == git.EmptyTree { // it has no paths that path would see
			s.search(pass, text{at(c, dir+e.Name), c.Ref, "the name of the directory", dir + e.Name, "rename it, and revoke it if it is real"})
		}
	}
}

func (s *secrets) blob(pass *Pass, c *walk.Commit, change walk.Change, data []byte) {
	if record.ParseMessagePath(change.Path) > 0 { // without JSON's escapes, as it is to stand in COMMS.md
		if m, err := comms.ParseMessage(data); err == nil {
			s.search(pass, text{at(c, change.Path), c.Ref, "the message", m.Text, "say it without, and revoke it if it is real"})
		}
	}
	found := s.scan(pass, at(c, change.Path), c.Ref, change.Path, data)
	if len(found) == 0 {
		return
	}
	// What an older version of the file has published, this push does not add.
	for _, f := range secret.Fresh(found, pass.Repo.Before(change)) {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID, Path: change.Path, Line: f.Line, Col: f.Col}, Ref: c.Ref,
			Rule: "secret/" + f.Rule, Message: "this looks like a secret: " + f.Description,
			Hint: secretHint(pass.Push.Principal, f.Rule, change.Path)})
	}
}

// search searches a text, and reports whether it is clean.
func (s *secrets) search(pass *Pass, t text) (harmless bool) {
	found := s.scan(pass, t.pos, t.ref, "", []byte(t.text))
	for _, f := range found {
		where := t.what
		if strings.Contains(t.text, "\n") || strings.HasSuffix(t.what, "message") {
			where = fmt.Sprintf("line %d of %s", f.Line, t.what)
		}
		pass.Report(diag.Diagnostic{Pos: t.pos, Ref: t.ref, Rule: "secret/" + f.Rule, Message: where + " looks like a secret: " + f.Description, Hint: t.hint})
	}
	return len(found) == 0
}

// scan searches data; file is its path, if it has one. Beyond the budget it reports that
// instead.
func (s *secrets) scan(pass *Pass, pos diag.Pos, ref, file string, data []byte) []secret.Finding {
	most := pass.Push.Config.Limits.SecretScan
	if s.scanner == nil {
		s.scanner = secret.New(most)
	}
	found, err := s.scanner.Scan(file, data)
	if errors.Is(err, secret.ErrBudget) {
		pass.Report(diag.Diagnostic{Pos: pos, Ref: ref, Rule: "limit/secret-scan",
			Message: fmt.Sprintf("searching the push for secrets takes more than %d bytes of work", most),
			Hint:    "push in smaller parts; the host admin sets [limits] secret_scan"})
	}
	return found
}

// secretHint is the pusher's remedy: only the PM can pass a false positive.
func secretHint(who push.Principal, rule, path string) string {
	const remove = "take it out of every commit of the push (git rebase -i) and revoke it if it is real"
	if who != push.PM {
		return remove + "; if it is none, ask the PM in COMMS.md, Questions"
	}
	return remove + "; a false positive passes with git push -o ward.allow=secret/" + rule + ":" + path
}

// redact removes secrets from findings themselves: a path, ref or quoted word may contain one,
// and findings go to terminals and logs.
func redact(findings []diag.Diagnostic) {
	if len(findings) == 0 {
		return
	}
	var texts []*string
	for i := range findings {
		d := &findings[i]
		texts = append(texts, &d.Path, &d.Ref, &d.Message, &d.Hint)
	}
	secret.Redact(texts...)
}
