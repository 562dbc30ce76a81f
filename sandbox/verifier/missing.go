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

// notFound matches how shells report a missing command, and Python a missing module. noFile matches
// how make and env, which start a command without a shell, report one: the words are also those of a
// missing file, so they count only with the exit code of a missing command, which ended127 finds in what
// make prints.
var (
	notFound = pattern.New(`(?m)(?:^|[ :])([A-Za-z0-9_][A-Za-z0-9_.+-]*): (?:command )?not found$`)
	noFile   = pattern.New(`(?m)(?:^|[ :])['‘]?([A-Za-z0-9_][A-Za-z0-9_.+-]*)['’]?: No such file or directory$`)
	ended127 = pattern.New(`(?m)Error 127$`)
	noModule = pattern.New(`(?m)(?:^|/)(python[0-9.]*): No module named ([A-Za-z_][A-Za-z0-9_.]*)$`)
)

// runsModule joins the interpreter and the module in the name of a Python tool.
const runsModule = " -m "

// missing finds the first command that failed because a program is missing that its line, or some text
// of main's, names. The output suggests a program; a search by the shell, where the line ran, confirms
// that it is missing.
func (t *trying) missing(ctx context.Context, runner Runner, tree string, runs []Run) (*Missing, error) {
	var wanted []Missing
	for _, r := range runs {
		if r.OK() || r.End != Exited {
			continue
		}
		names := notFound.FindAllStringSubmatch(r.Tail, -1)
		if r.Exit == 127 || ended127.MatchString(r.Tail) {
			names = append(names, noFile.FindAllStringSubmatch(r.Tail, -1)...)
		}
		for _, m := range names {
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

// named reports whether a command's line or a text of main's has the word. A program that only the work
// wants does not count as missing.
func (t *trying) named(ctx context.Context, m Missing) (bool, error) {
	_, module, ok := strings.Cut(m.Tool, runsModule)
	word := cmp.Or(module, m.Tool)
	if slices.Contains(sources.Words(m.Line), word) || ok && strings.Contains(m.Line, word) {
		return true, nil
	}
	return t.repo.Exits(ctx, "grep", "--quiet", "--word-regexp", "--fixed-strings", "-e", word, t.claim.Base, "--")
}

// search makes a line for the shell that prints a tool which it does not find. The name has no
// characters that the shell interprets.
func search(tool string) string {
	if python, module, ok := strings.Cut(tool, runsModule); ok {
		return fmt.Sprintf("%s -c 'import sys, importlib.util as u; sys.exit(u.find_spec(\"%s\") is None)' >/dev/null 2>&1 || echo '%s'\n", python, module, tool)
	}
	return fmt.Sprintf("command -v '%s' >/dev/null 2>&1 || echo '%s'\n", tool, tool)
}
