package worker

import (
	"context"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"git-ward/agent/correct"
	"git-ward/agent/orient"
	"git-ward/agent/prompt"
	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/loop"
)

// recall is what earlier directives learnt, for a command's prompt; "" for nothing. An
// unreadable memory is logged, because it must not stop all directives.
func recall(ctx context.Context, s *store.Store, log zerolog.Logger) string {
	list, left, err := s.Remembered(ctx)
	if err != nil {
		log.Warn().Err(err).Msg("the lessons of earlier directives cannot be read")
		return ""
	}
	text, told := correct.Text(list, left)
	if told > 0 {
		log.Info().Int("lessons", len(list)).Int("told", told).Stringer("left", left).Msg("read the lessons of earlier directives")
	}
	return text
}

// guide is an adopted project's own documents, for a command's prompt; "" for none. Errors are
// logged.
func guide(ctx context.Context, s *store.Store, w *store.Work, log zerolog.Logger) string {
	text, err := orient.Guidance(ctx, &worktree.Tree{Dir: w.Dir(), Env: s.Environ()})
	if err != nil {
		log.Warn().Err(err).Msg("the project's guidance cannot be read")
	}
	return text
}

// skills are those of the loop's skill pack that control has (003, skill_pack).
func (r *unitRun) skills(ctx context.Context, main store.Snapshot) []prompt.Skill {
	list, err := prompt.Skills(r.unit.declaration.SkillPack, func(path string, limit int64) ([]byte, error) { return main.File(ctx, path, limit) })
	if err != nil {
		r.log.Warn().Err(err).Msg("not all skills can be told")
	}
	return list
}

// declareSkills puts control's current skills into the declaration, from which capsules are
// built.
func (r *unitRun) declareSkills(ctx context.Context) error {
	main, err := r.deps.store.Look(ctx)
	if err != nil {
		return err
	}
	names, err := main.List(ctx, loop.SkillsDir)
	r.unit.declaration.SkillPack = loop.SkillPack(names)
	return err
}

// learn applies the lessons of the work's post-mortems once the work is at the remote, and
// returns the report's text about it. An error does not undo the work; it is reported.
func learn(ctx context.Context, w *store.Work, control config.Control, log zerolog.Logger) string {
	learnt, err := w.Learn(ctx)
	switch {
	case err != nil:
		log.Warn().Err(err).Msg("the lessons of the post-mortem are not carried out")
		line, _, _ := strings.Cut(err.Error(), "\n")
		return "The lessons of the post-mortem are not carried out: " + diag.Clean(line)
	case learnt != nil && learnt.Applied+learnt.Failed > 0:
		log.Info().Int("applied", learnt.Applied).Int("failed", learnt.Failed).Str("branch", learnt.Branch).Msg("lessons are carried out")
		return learntText(learnt, control)
	}
	return ""
}

// learntText describes the lessons' results and how to take them. Their branches start at
// control, which is not the PM's working branch if the two are split.
func learntText(l *store.Learnt, control config.Control) string {
	on := ""
	if control.Split() {
		on = " on " + control.Branch
	}
	return fmt.Sprintf("%s holds the lessons of its post-mortem, %d carried out or noted and %d failed; `git merge origin/%s`%s takes them.",
		l.Branch, l.Applied, l.Failed, l.Branch, on)
}
