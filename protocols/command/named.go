package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/sources"
	"git-ward/protocols/comms"
)

// ruleNamed is of a source that a criterion names: it decides, so that no change of it is work
// (PROOF-1).
const ruleNamed = "criteria/named-source"

// maxNamedSources bounds the warnings of sources that criteria name.
const maxNamedSources = 5

// named is what namedSources finds; an error is a warning.
func (u *units) named(d *comms.Directive) []diag.Diagnostic {
	found, err := u.namedSources(d)
	if err != nil {
		fmt.Fprintf(u.env.Stderr, "the sources of %s cannot be read: %s\n", u.names.Project, diag.OneLine(err.Error()))
	}
	return found
}

// namedSources are the project's sources that a directive's criteria name, and that it does not
// declare as work.
func (u *units) namedSources(d *comms.Directive) (found []diag.Diagnostic, err error) {
	var lines []string
	for _, c := range d.Criteria {
		lines = append(lines, c.Command)
	}
	tip, err := u.reader.Tip(u.names.ProjectRef())
	if err != nil || tip == "" {
		return nil, err
	}
	tree := sources.Tree{}
	for entry, err := range u.repo.Records(u.ctx, "ls-tree", "-r", "-z", "--full-tree", tip) {
		if err != nil {
			return nil, err
		}
		meta, name, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(meta); len(fields) == 3 { // mode, kind, id
			tree[name] = fields[0] + " " + fields[2]
		}
	}
	batch := u.repo.Batch(u.ctx)
	defer batch.Close()
	project := sources.Read(tree, func(id string, limit int64) (string, bool) {
		_, data, err := batch.Read(id, limit)
		return string(data), err == nil
	})
	named := project.Named(lines)
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if sources.IsTest(name) || slices.Contains(d.Options.Work, name) || !project.IsWork(name) || !named.Has(name) {
			continue
		}
		if len(found) == maxNamedSources {
			break
		}
		path := diag.Clean(name)
		found = append(found, criterionFinding(d, ruleNamed, fmt.Sprintf("a criterion names %s, so a change of it does not count as work", path),
			fmt.Sprintf("if the agent is to change it, add the line `- work: %s`: git ward directive edit %s", path, d.Name())))
	}
	return found, nil
}
