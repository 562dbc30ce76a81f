package checks

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
)

var versionCheck = Check{
	Name: "version",
	Doc: "VERSION is one line of Semantic Versioning and never goes backwards (for the PM a warning: a release may be taken back). " +
		"A project's own, which was of another form before, may stay so.",
	Rules: []string{"version/missing", "version/semver", "version/backwards"},
	Tip: func(pass *Pass, t *walk.Tip) error {
		d, err := readDocument(pass, t, "VERSION", 256)
		if d == nil || err != nil {
			return err
		}
		report := func(s diag.Severity, rule, message, hint string) {
			pass.Report(diag.Diagnostic{Pos: d.pos(1, 1), Ref: t.Ref, Rule: rule, Severity: s, Message: message, Hint: hint})
		}
		if d.deleted {
			report(diag.Error, "version/missing", "VERSION is gone", "git checkout HEAD~1 -- VERSION")
			return nil
		}
		now, ok := semanticVersion(d.new)
		if !ok {
			severity := diag.Error
			if _, ok := semanticVersion(d.old); !ok && d.old != nil {
				severity = diag.Warning // a project's own VERSION, of another form, from before Ward
			}
			report(severity, "version/semver", fmt.Sprintf("%q is not a line of the form 1.2.3", d.new),
				"write MAJOR.MINOR.PATCH and a newline, with -prerelease or +build if you like")
			return nil
		}
		before, ok := semanticVersion(d.old)
		if ok && semver.Compare(now, before) < 0 {
			severity := diag.Error
			if pass.Push.Principal == push.PM {
				severity = diag.Warning
			}
			report(severity, "version/backwards", fmt.Sprintf("goes back from %s to %s", before[1:], now[1:]),
				"raise the version instead")
		}
		return nil
	},
}

// semanticVersion is the version in a VERSION file with a leading v, as
// golang.org/x/mod/semver wants it. That package takes "v1" for "v1.0.0",
// which semver.org does not.
func semanticVersion(data []byte) (string, bool) {
	line, rest, _ := strings.Cut(string(data), "\n")
	v := "v" + line
	return v, rest == "" && semver.IsValid(v) && semver.Canonical(v)+semver.Build(v) == v
}
