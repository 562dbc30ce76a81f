package checks

import (
	"fmt"
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
)

var commitCheck = Check{
	Name: "commit",
	Doc: "Refuses commits and tags whose names, mails, headers or messages lie to a terminal or a reader: control, reordering and " +
		"invisible characters, invalid UTF-8, and text over the limit (GATE-5).",
	Rules: []string{"commit/size", "commit/author", "commit/committer", "commit/message", "commit/header", "tag/size", "tag/name", "tag/tagger", "tag/message", "tag/other-name"},
	Commit: func(pass *Pass, c *walk.Commit) {
		extra := 0
		parts := []textPart{
			{"author", c.Text(c.Author), false, "git commit --amend --reset-author, with a plain user.name and user.email"},
			{"committer", c.Text(c.Committer), false, "set a plain user.name and user.email, then git commit --amend"},
			{"message", c.Text(c.Message), true, "retype the message: git commit --amend"},
		}
		for _, h := range c.Extra {
			extra += len(h.Value)
			// A signature of an armour's lines, a merged tag, and what other tools add.
			parts = append(parts, textPart{"header", c.Text(h.Value), true, "commit again with git commit; git rebase --force-rebase drops headers that are made by hand"})
		}
		metadata(pass, "commit", c.ID, c.Ref, len(c.Message), extra, parts)
	},
	Tag: func(pass *Pass, t *walk.Tag) {
		const hint = "make the tag again: git tag -f -a"
		metadata(pass, "tag", t.ID, t.Ref, len(t.Message), 0, []textPart{
			{"name", t.Name, false, hint}, {"tagger", t.Tagger, false, hint}, {"message", t.Message, true, hint},
		})
		if name, ok := strings.CutPrefix(t.Ref, "refs/tags/"); ok && name != t.Name {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.ID}, Ref: t.Ref, Rule: "tag/other-name", Severity: diag.Warning,
				Message: fmt.Sprintf("the tag object calls itself %q, and git describe and git verify-tag believe it", clip(t.Name)), Hint: hint})
		}
	},
}

// textPart is one of the texts that git keeps with content.
type textPart struct {
	name, text string
	lines      bool
	hint       string
}

// metadata judges the texts of a commit or a tag.
func metadata(pass *Pass, kind, id, ref string, message, headers int, parts []textPart) {
	report := func(rule, message, hint string) {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: id}, Ref: ref, Rule: kind + "/" + rule, Message: message, Hint: hint})
	}
	limit := pass.Push.Config.Limits.MessageSize
	if int64(message) > limit {
		hint := map[string]string{"commit": "shorten it: git commit --amend", "tag": "make the tag again with a shorter one: git tag -f -a"}[kind]
		report("size", fmt.Sprintf("the message has %d bytes, more than %d", message, limit), hint)
	}
	if int64(headers) > limit {
		report("size", fmt.Sprintf("the headers have %d bytes, more than %d", headers, limit), "commit again with plain git commit")
	}
	if int64(message) > limit || int64(headers) > limit {
		return
	}
	for _, part := range parts {
		if h, found := diag.FindHidden(part.text, part.lines); found {
			report(part.name, "the "+part.name+" holds "+h.What, part.hint)
		}
	}
}
