package command

import (
	"slices"

	"git-ward/hooks/checks"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/export"
)

// ruleOwners finds a rule's check, and what that refuses.
type ruleOwners []checks.Check

// name is the check's, or what the rule is about where no check says it.
func (o ruleOwners) name(d diag.Diagnostic) string {
	if c := o.of(d.Rule); c != nil {
		return c.Name
	}
	return export.About(d)
}

func (o ruleOwners) doc(rule string) string {
	if c := o.of(rule); c != nil {
		return c.Doc
	}
	return ""
}

func (o ruleOwners) of(rule string) *checks.Check {
	for _, wanted := range []string{rule, export.About(diag.Diagnostic{Rule: rule}) + "/*"} {
		if i := slices.IndexFunc(o, func(c checks.Check) bool { return slices.Contains(c.Rules, wanted) }); i >= 0 {
			return &o[i]
		}
	}
	return nil
}

// exportLint writes what lint found: a case for each check.
func exportLint(env *cli.Env, found []diag.Diagnostic, f export.Format) error {
	owners := ruleOwners(checks.Table())
	var names []string
	for _, c := range owners {
		names = append(names, c.Name)
	}
	r := export.Report{Name: "git ward lint", Version: cli.Version, Findings: found, Docs: owners.doc, Cases: export.Grouped("checks", names, found, owners.name)}
	return r.Write(env.Stdout, f)
}

// proofs are fsck's rules; each is a test case, whether or not it has findings.
var proofs = []string{"fsck/chain", "fsck/config", "fsck/unrecorded", "fsck/gap", "fsck/notes", "fsck/tail", "fsck/unit", "fsck/record", "fsck/verdict", "fsck/evidence"}

// exportProof writes what fsck found.
func exportProof(env *cli.Env, found []diag.Diagnostic, f export.Format) error {
	rule := func(d diag.Diagnostic) string { return d.Rule }
	return (&export.Report{Name: "git ward fsck", Version: cli.Version, Findings: found, Cases: export.Grouped("fsck", proofs, found, rule)}).Write(env.Stdout, f)
}
