package verifier

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/pattern"
	"git-ward/internal/sources"
)

// Missing is a program that does not exist where commands run.
type Missing struct {
	Command        // that wanted it
	Tool    string `json:"tool"`
}

// maxTools bounds how many programs are asked after.
const maxTools = 20

// notFound is how shells say that they found no command, and Python that it found no
// module.
var (
	notFound = pattern.New(`(?m)(?:^|[ :])([A-Za-z0-9_][A-Za-z0-9_.+-]*): (?:command )?not found$`)
	noModule = pattern.New(`(?m)(?:^|/)(python[0-9.]*): No module named ([A-Za-z_][A-Za-z0-9_.]*)$`)
)

// runsModule stands between a Python and its module in the name of a tool.
const runsModule = " -m "

// missing finds the first command that was not met because a program is not there which its
// line, or some text of main's, names. That one is missed its output says; that it is not
// there says the shell's own search, where the line ran.
func (t *trying) missing(ctx context.Context, runner Runner, tree string, runs []Run) (*Missing, error) {
	var wanted []Missing
	for _, r := range runs {
		if r.OK() || r.End != Exited {
			continue
		}
		for _, m := range notFound.FindAllStringSubmatch(r.Tail, -1) {
			wanted = append(wanted, Missing{r.Command, m[1]})
		}
		for _, m := range noModule.FindAllStringSubmatch(r.Tail, -1) {
			wanted = append(wanted, Missing{r.Command, m[1] + runsModule + m[2]})
		}
	}
	wanted = wanted[:min(len(wanted), maxTools)]
	var script strings.Builder
	for _, m := range wanted {
		script.WriteString(search(m.Tool))
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	job, err := t.judged.job(ctx, tree)
	if err != nil {
		return nil, err
	}
	job.Line = script.String() + "true"
	o, err := runner.Run(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("the search for missing programs cannot be run: %w", err)
	}
	absent := strings.Split(o.Tail, "\n")
	for _, m := range wanted {
		if !slices.Contains(absent, m.Tool) {
			continue
		}
		if named, err := t.named(ctx, m); named || err != nil {
			return &m, err
		}
	}
	return nil, nil
}

// named reports whether a command's line has the word, or a text of main's: what only the
// work wants is for the work to bring.
func (t *trying) named(ctx context.Context, m Missing) (bool, error) {
	_, module, ok := strings.Cut(m.Tool, runsModule)
	word := cmp.Or(module, m.Tool)
	if slices.Contains(sources.Words(m.Line), word) || ok && strings.Contains(m.Line, word) {
		return true, nil
	}
	return t.repo.Exits(ctx, "grep", "--quiet", "--word-regexp", "--fixed-strings", "-e", word, t.claim.Base, "--")
}

// search is a line for the shell that prints a tool which it does not find. Its name is a
// plain one: nothing of it is the shell's.
func search(tool string) string {
	if python, module, ok := strings.Cut(tool, runsModule); ok {
		return fmt.Sprintf("%s -c 'import sys, importlib.util as u; sys.exit(u.find_spec(\"%s\") is None)' >/dev/null 2>&1 || echo '%s'\n", python, module, tool)
	}
	return fmt.Sprintf("command -v '%s' >/dev/null 2>&1 || echo '%s'\n", tool, tool)
}
