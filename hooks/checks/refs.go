package checks

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// hostOnly are the refs that only the host's own code moves (SPEC section 2).
var hostOnly = []string{
	"refs/ward/audit", "refs/ward/last-good",
	"refs/notes/audit", "refs/notes/lessons", "refs/notes/certificates",
}

var refCheck = Check{
	Name: "ref",
	Doc: "Refuses ref names that git or people misread, refs that only the host moves, replacement objects, " +
		"and the deletion of main.",
	Ref: func(r *Run, u Update) {
		report := func(rule, message, hint string) {
			r.Report(diag.Diagnostic{Ref: u.Ref, Rule: rule, Message: message, Hint: hint})
		}
		if reason := badRefName(u.Ref); reason != "" {
			report("ref/name", reason, "push it under a plain name, such as refs/heads/topic")
			return
		}
		if !git.IsID(u.Old) || !git.IsID(u.New) {
			report("ref/object", "the update does not name two SHA-1 object ids", "use a SHA-1 repository")
			return
		}
		switch {
		case slices.Contains(hostOnly, u.Ref):
			report("ref/host-only", "only the host moves this ref", "leave it out of the push: git push origin HEAD")
		case strings.HasPrefix(u.Ref, "refs/replace/"):
			report("ref/replace", "replacement objects would change what others read", "delete it: git replace -d")
		case strings.HasPrefix(u.Ref, "refs/ward/") && !journal(u.Ref):
			report("ref/ward", "nothing is kept below refs/ward/ under this name",
				"leave it out of the push: git push origin HEAD")
		case u.Ref == "refs/heads/main" && u.New == git.Zero:
			report("ref/delete-main", "main cannot be deleted", "push a commit that reverts what you want gone")
		}
	},
}

// badRefName says why a full ref name is refused: git-check-ref-format(1) checks
// it too, but only after the hooks; and some well-formed names deceive people.
func badRefName(ref string) string {
	name, ok := strings.CutPrefix(ref, "refs/")
	if !ok || name == "" || len(ref) > 250 {
		return "is not a full ref name of at most 250 bytes"
	}
	if strings.ContainsAny(ref, " ~^:?*[\\") || strings.Contains(ref, "..") || strings.Contains(ref, "@{") ||
		strings.Contains(ref, "//") || strings.HasSuffix(ref, "/") || strings.HasSuffix(ref, ".") {
		return "is not a valid ref name"
	}
	if diag.Clean(ref) != ref {
		return "holds control, invisible or invalid characters"
	}
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") || strings.HasPrefix(part, "-") {
			return fmt.Sprintf("the part %q is not a valid ref name", part)
		}
	}
	if parts[0] == "heads" && len(parts) > 1 {
		short := strings.Join(parts[1:], "/")
		switch {
		case parts[1] == "refs" || parts[1] == "heads":
			return "a branch of this name is mistaken for another ref"
		case short == "HEAD" || strings.HasSuffix(short, "_HEAD"):
			return "a branch of this name is mistaken for git's own " + short
		case git.IsID(strings.ToLower(short)):
			return "a branch of this name is mistaken for an object id"
		}
	}
	return ""
}

// agentBranch reports whether a ref is in the agent's own space.
func agentBranch(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/agent/") || strings.HasPrefix(ref, "refs/heads/rescue/")
}
