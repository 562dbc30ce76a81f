package checks

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/protocols/plan"
)

var registryCheck = Check{
	Name: "registry",
	Doc: "knowledge_core/plan_registry.json maps logical names to plans inside the repository, each name once; what a change of " +
		"it points to is there and has no findings, and no registered plan goes away.",
	Rules: []string{plan.RuleRegistry, plan.RuleTarget},
	Tip: func(pass *Pass, t *walk.Tip) error {
		d, err := readDocument(pass, t, plan.RegistryPath, plan.MaxRegistryBytes)
		if err != nil {
			return err
		}
		if d == nil {
			return registeredGone(pass, t)
		}
		if d.deleted {
			d.gone(plan.RuleRegistry)
			return nil
		}
		registry, found := plan.ParseRegistry(d.new)
		d.reportAll(found)
		before, _ := plan.ParseRegistry(d.old)
		linter := newLinter(pass, t, t.Commit.Tree)
		for _, e := range registry.Entries {
			if old, ok := before.Lookup(e.Name); ok && old == e.Path {
				continue
			}
			if err := target(pass, d, linter, e); err != nil {
				return err
			}
		}
		return registeredGone(pass, t)
	},
}

// target reports a changed entry whose plan is missing or has findings.
func target(pass *Pass, d *document, linter *plan.Linter, e plan.Entry) error {
	fault := func(message, hint string) {
		d.report(e.Line, plan.RuleTarget, fmt.Sprintf("%q: %s", e.Name, message), hint)
	}
	tree := &treeFiles{pass: pass, tree: d.tip.Commit.Tree}
	kind, err := tree.Kind(e.Path)
	if err != nil {
		return err
	}
	if kind != plan.File {
		fault("there is no file "+e.Path, "add the plan, or git ward plan register --remove "+e.Name)
		return nil
	}
	if strings.HasSuffix(e.Path, ".udc") {
		return nil
	}
	found, err := linter.Lint(e.Path)
	if err != nil {
		return err
	}
	if found = plan.Relaxed(found); diag.HasErrors(found) {
		fault(fmt.Sprintf("%s: %s: %s", found[0].Pos, found[0].Rule, found[0].Message), "mend the plan: git ward plan lint "+e.Path)
	}
	return nil
}

// registeredGone reports deleted files that the registry names.
func registeredGone(pass *Pass, t *walk.Tip) error {
	gone := map[string]bool{}
	for _, c := range t.Changes {
		if c.Deleted() && c.Path != plan.RegistryPath {
			gone[c.Path] = true
		}
	}
	if len(gone) == 0 || !hasDocuments(t) {
		return nil
	}
	tree := &treeFiles{pass: pass, tree: t.Commit.Tree}
	data, err := tree.ReadFile(plan.RegistryPath, plan.MaxRegistryBytes)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, diag.ErrTooLarge) {
		return nil
	}
	if err != nil {
		return err
	}
	registry, _ := plan.ParseRegistry(data)
	_, changed := changeOf(t, plan.RegistryPath)
	for _, e := range registry.Entries {
		if gone[e.Path] && !changed {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: plan.RegistryPath, Line: e.Line, Col: 1}, Ref: t.Ref, Rule: plan.RuleTarget,
				Message: fmt.Sprintf("%q: %s is gone", e.Name, e.Path), Hint: "bring the plan back, or git ward plan register --remove " + e.Name})
		}
	}
	return nil
}
