package checks

import (
	"errors"
	"path"
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lesson"
	"git-ward/protocols/record"
)

// postMortemCheck only warns: a task is closed by its plan, and its post-mortem is filled in
// after that.
var postMortemCheck = Check{
	Name:  "postmortem",
	Doc:   "A post-mortem that comes as its template was says nothing to who comes after: a warning, to everybody.",
	Rules: []string{lesson.RuleEmpty},
	Tip:   judgePostMortems, Record: judgePostMortems,
}

func judgePostMortems(pass *Pass, t *walk.Tip) error {
	if !hasDocuments(t) {
		return nil
	}
	for _, c := range t.Changes {
		if !strings.HasPrefix(c.Path, record.PostMortems+"/") || path.Ext(c.Path) != ".md" || c.Deleted() || c.Old.ID == c.New.ID {
			continue
		}
		data, err := pass.Repo.Regular(c.New, lesson.MaxPostMortem)
		if _, ok := errors.AsType[*git.TooLarge](err); err != nil && !ok {
			return err
		}
		if err == nil && lesson.IsTemplate(data) {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: c.Path}, Ref: t.Ref, Rule: lesson.RuleEmpty, Severity: diag.Warning,
				Message: "the post-mortem is as its template was, and says nothing", Hint: lesson.EmptyHint})
		}
	}
	return nil
}
