package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// line is a history of commits one on top of another, the oldest first; the id of each is its
// place in the line.
type line []struct {
	message string
	tree    mapTree
	trouble bool
}

func (l line) at(commit string) (n int, err error) {
	_, err = fmt.Sscan(commit, &n)
	if err == nil && l[n].trouble {
		err = errors.New("trouble")
	}
	return n, err
}

func (l line) Parents(commit string) ([]string, error) {
	n, err := l.at(commit)
	if n == 0 || err != nil {
		return nil, err
	}
	return []string{fmt.Sprint(n - 1)}, nil
}

func (l line) Has(commit, path string) (bool, error) {
	n, err := l.at(commit)
	if err != nil {
		return false, err
	}
	_, ok := l[n].tree[path]
	return ok, nil
}

func (l line) Tree(commit string) (Tree, error) {
	if commit == "" {
		return mapTree{}, nil
	}
	n, err := l.at(commit)
	if err != nil {
		return nil, err
	}
	return l[n].tree, nil
}

func (l line) Oldest(text, commit, without string) (string, error) {
	to, err := l.at(commit)
	from := -1
	if without != "" && err == nil {
		from, err = l.at(without)
	}
	for n := from + 1; n <= to && err == nil; n++ {
		if strings.Contains(l[n].message, text) {
			return fmt.Sprint(n), nil
		}
	}
	return "", err
}

// TestLintArrival: a plan is judged in the trees before the one that it came with.
func TestLintArrival(t *testing.T) {
	const path = "plans/a.txt"
	task := "set_plan go\n---\nplan_step_complete\n---\n%s---\nrun_in_bash_session git ward task close --task-id D-1\n---\nsubmit\n"
	makes := fmt.Sprintf(task, "create_file_with_block new\nhello\n")
	reads := fmt.Sprintf(task, "read_file old\n")
	with := func(plan string, more ...string) mapTree {
		tree := mapTree{path: plan}
		for i := 0; i < len(more); i += 2 {
			tree[more[i]] = more[i+1]
		}
		return tree
	}
	for name, c := range map[string]struct {
		history line
		ran     bool
		want    []string
	}{
		"it uses what is nowhere":         {line{{tree: mapTree{"x": ""}}, {tree: with(reads)}}, false, []string{RuleMissing}},
		"it uses what its parent has":     {line{{tree: mapTree{"old": ""}}, {tree: with(reads)}}, false, nil},
		"it uses what an old commit has":  {line{{tree: mapTree{"old": ""}}, {tree: mapTree{"x": ""}}, {tree: with(reads)}}, false, []string{RuleMissing}},
		"it uses what was before it came": {line{{tree: mapTree{"old": ""}}, {tree: with("first", "old", "")}, {tree: with("second")}, {tree: with(reads)}}, false, nil},
		"it made something else":          {line{{tree: mapTree{"new": "x"}}, {tree: with(makes, "new", "x")}}, false, []string{RuleExists}},
		"it came with what it makes":      {line{{tree: mapTree{"x": ""}}, {tree: with(makes, "new", "hello\n")}}, false, nil},
		"it ran, and that was changed":    {line{{tree: mapTree{"x": ""}}, {tree: with(makes, "new", "more")}}, true, nil},
		"a step of it is told of": {line{{tree: mapTree{"x": ""}}, {tree: with("first")}, {message: "Ward-Step: plans/a.txt#1", tree: with("first", "new", "hello\n")},
			{tree: with(makes, "new", "more")}}, false, nil},
		"a step of another is told of": {line{{tree: mapTree{"new": "x"}}, {tree: with("first", "new", "x")}, {message: "Ward-Step: plans/b.txt#1", tree: with("first", "new", "x")},
			{tree: with(makes, "new", "more")}}, false, []string{RuleExists}},
	} {
		came := len(c.history) - 1
		tree := c.history[came].tree
		found, err := newMapLinter(tree).LintArrival(c.history, fmt.Sprint(came), path, c.ran)
		var got []string
		for _, d := range found {
			got = append(got, d.Rule)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %v\n%s", name, got, err, render(found))
		}
		c.history[0].trouble = true
		if _, err := newMapLinter(tree).LintArrival(c.history, fmt.Sprint(came), path, c.ran); err == nil && name == "it uses what is nowhere" {
			t.Errorf("%s: trouble is lost", name)
		}
	}
}
