package worker

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/correct"
	"git-ward/internal/diag"
)

// memorySize and memoryCount bound the lessons that a worker is told, the newest
// ones; `git ward lesson list --all` lists all.
const (
	memorySize  = 32 << 10
	memoryCount = 100
)

// recall is what earlier directives learnt, as text for a command's prompt; "" when
// they learnt nothing. A model that converses is told by its orientation. Work goes on without it: a memory that cannot be read must not
// keep every directive from being worked on.
func (j *job) recall(ctx context.Context) string {
	list, err := j.store.Remembered(ctx)
	if err != nil {
		j.log.Warn().Err(err).Msg("the lessons of earlier directives cannot be read")
		return ""
	}
	if len(list) == 0 {
		return ""
	}
	var lines []string
	size := 0
	for i := len(list) - 1; i >= 0 && len(lines) < memoryCount; i-- {
		l := list[i]
		line := fmt.Sprintf("- %s (%s, %s): %s [%s]\n", l.ID, diag.Clean(l.TaskID), l.Status, l.Lesson.String(), correct.Summary(l.Action))
		if size += len(line); size > memorySize {
			break
		}
		lines = append(lines, line)
	}
	j.log.Info().Int("lessons", len(list)).Int("told", len(lines)).Msg("read the lessons of earlier directives")
	return "# Lessons of earlier directives\n\nThe newest first; those of branches that are not merged are among them.\n\n" + strings.Join(lines, "")
}

// learn carries out what the work's post-mortems teach, once the work is on the
// remote. What goes wrong with it does not undo the work: it is said.
func (j *job) learn(ctx context.Context) {
	learnt, err := j.work.Learn(ctx)
	switch {
	case err != nil:
		j.log.Warn().Err(err).Msg("the lessons of the post-mortem are not carried out")
		j.lessons = "The lessons of the post-mortem are not carried out: " + diag.Clean(firstLine(err.Error()))
	case learnt != nil && learnt.Applied+learnt.Failed > 0:
		j.log.Info().Int("applied", learnt.Applied).Int("failed", learnt.Failed).Str("branch", learnt.Branch).Msg("lessons are carried out")
		j.lessons = fmt.Sprintf("%s holds the lessons of its post-mortem, %d carried out or noted and %d failed; `git merge origin/%s` takes them.",
			learnt.Branch, learnt.Applied, learnt.Failed, learnt.Branch)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
