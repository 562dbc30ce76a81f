package verifier

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"git-ward/internal/git"
	"git-ward/sandbox/verifier/deciding"
)

// Missing is a program that is not where commands run.
type Missing struct {
	Name string `json:"name"` // of the command that wanted it
	Line string `json:"line"`
	Tool string `json:"tool"`
}

// The ends of a shell that did not find a command, or could not execute it (POSIX).
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// maxTools bounds how many programs are asked after.
const maxTools = 50

// missing finds the first command that was not met because a program which main's own
// words run is not there. Where the shell says itself that it found none, any of the
// line's programs counts; where a line failed otherwise, those that it cannot do without
// (make test | grep ok), and those that the recipes of main's own makefiles cannot do
// without: make has an exit code of its own. The shell's own search, where the line ran,
// decides, and no sentence of a program's.
func missing(ctx context.Context, repo *git.Repo, runner Runner, claim Claim, tree string, runs []Run) (*Missing, error) {
	files, done := mains(ctx, repo, claim.Base, tree)
	defer done()
	wanted := map[string]Missing{}
	for _, r := range slices.Backward(runs) { // so that the first one counts
		if r.OK() || r.End != Exited {
			continue
		}
		tools := deciding.Tools(r.Line)
		for tool, always := range tools {
			if always || r.Exit == exitNotFound || r.Exit == exitNotExecutable {
				wanted[tool] = Missing{r.Name, r.Line, tool}
			}
		}
		for _, recipe := range deciding.Recipes(r.Line, files) {
			for tool, always := range deciding.Tools(recipe) {
				if always {
					wanted[tool] = Missing{r.Name, r.Line, tool}
				}
			}
		}
	}
	if len(wanted) == 0 || len(wanted) > maxTools {
		return nil, nil
	}
	o, err := runner.Run(ctx, Job{Commit: claim.Commit, Tree: tree, Line: searchLine(slices.Sorted(maps.Keys(wanted)))})
	if err != nil {
		return nil, fmt.Errorf("the search for missing programs cannot be run: %w", err)
	}
	var absent []Missing
	for tool := range strings.Lines(o.Tail) {
		if m, ok := wanted[strings.TrimSuffix(tool, "\n")]; ok {
			absent = append(absent, m)
		}
	}
	if len(absent) == 0 {
		return nil, nil
	}
	m := slices.MinFunc(absent, func(a, b Missing) int { return cmp.Compare(index(runs, a.Name), index(runs, b.Name)) })
	return &m, nil
}

// mains reads files of a tree that ran, as far as main's commit base has the same.
func mains(ctx context.Context, repo *git.Repo, base, tree string) (files deciding.Files, done func()) {
	batch := repo.Batch(ctx)
	return func(name string) (string, bool) {
		if strings.ContainsFunc(name, unicode.IsSpace) { // a line of the batch's has one name
			return "", false
		}
		held, data, err := batch.Read(base+":"+name, deciding.MaxText)
		if err != nil {
			return "", false
		}
		ran, _, err := batch.Read(tree+":"+name, deciding.MaxText)
		return string(data), err == nil && ran.ID == held.ID
	}, func() { batch.Close() }
}

// searchLine is a line for the shell that prints those of some programs which it does
// not find. The names are plain ones (deciding.Tools): nothing of them is the shell's.
func searchLine(tools []string) string {
	var b strings.Builder
	for _, tool := range tools {
		if python, module, ok := strings.Cut(tool, deciding.RunsModule); ok {
			fmt.Fprintf(&b, "%s -c 'import sys, importlib.util as u; sys.exit(u.find_spec(\"%s\") is None)' >/dev/null 2>&1 || echo '%s'\n", python, module, tool)
			continue
		}
		fmt.Fprintf(&b, "command -v '%s' >/dev/null 2>&1 || echo '%s'\n", tool, tool)
	}
	return b.String() + "true"
}

func index(runs []Run, name string) int {
	return slices.IndexFunc(runs, func(r Run) bool { return r.Name == name })
}
