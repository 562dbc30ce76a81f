package push

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/protocols/attest"
	"git-ward/protocols/boot"
	"git-ward/protocols/lesson"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// HostOnly are the refs that only the host's own code moves: in step with the audit, or, of
// those below refs/ward/boot, refs/ward/lease, refs/ward/folded and refs/ward/forge, by
// compare-and-swap (MANY-2, FORGE-1).
var HostOnly = []string{
	state.AuditRef, boot.LastGood, "refs/ward/boot", "refs/ward/lease", "refs/ward/folded", "refs/ward/forge",
	state.AuditNotes, lesson.Ref, loop.VerdictsRef, attest.Ref,
}

// IsHostOnly reports whether a full ref name is one of HostOnly, or below one.
func IsHostOnly(ref string) bool {
	return slices.ContainsFunc(HostOnly, func(own string) bool { return strings.HasPrefix(ref+"/", own+"/") })
}

// IsBranch reports whether a ref is a branch.
func IsBranch(ref string) bool { return strings.HasPrefix(ref, "refs/heads/") }

// IsAgentBranch reports whether a ref is in the agent's own space.
func IsAgentBranch(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/agent/") || strings.HasPrefix(ref, "refs/heads/rescue/")
}

// IsJournal reports whether a ref is below refs/ward/uow/.
func IsJournal(ref string) bool { return strings.HasPrefix(ref, uow.RefPrefix) }

// IsTake reports whether a ref asks for a verdict on the merge of a unit's work.
func IsTake(ref string) bool {
	unit, ok := strings.CutPrefix(ref, uow.TakePrefix)
	_, err := uow.ParseID(unit)
	return ok && err == nil
}

// BadName says why a full ref name is refused, "" for nothing: git-check-ref-format(1) checks
// it too, but only after the hooks; and some well-formed names deceive people.
func BadName(ref string) string {
	if reason := badForm(ref); reason != "" {
		return reason
	}
	kind, short, _ := strings.Cut(strings.TrimPrefix(ref, "refs/"), "/")
	what := map[string]string{"heads": "a branch", "tags": "a tag"}[kind]
	if what == "" || short == "" {
		return ""
	}
	key := filename.PathKey(short)
	first, _, _ := strings.Cut(key, "/")
	switch {
	case slices.Contains([]string{"refs", "heads", "tags", "remotes"}, first):
		return what + " of this name is mistaken for another ref"
	case kind == "heads" && (key == "agent" || key == "rescue"):
		return "a branch of this name leaves no room for the agent's, which stand below it"
	case kind == "tags" && (first == "agent" || first == "rescue"):
		return "a tag of this name is mistaken for a branch of the agent's"
	case first == "origin":
		return what + " of this name is mistaken for what was fetched from origin"
	case key == "@" || key == "head" || slices.Contains(pseudoRefs, key) || strings.HasSuffix(short, "_HEAD"):
		return what + " of this name is mistaken for git's own " + short
	case IsHex(key) && (len(key) == 40 || len(key) == 64):
		return what + " of this name is mistaken for an object id"
	}
	return ""
}

// pseudoRefs are names that git resolves before branches and tags.
var pseudoRefs = []string{"fetch_head", "orig_head", "merge_head", "cherry_pick_head", "revert_head", "rebase_head", "bisect_head", "auto_merge", "stash"}

// IsHex reports whether a text is hexadecimal digits in lower case, one at least.
func IsHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }

// badForm says how a name violates git's form of a full ref name, or differs from what people
// see.
func badForm(ref string) string {
	name, ok := strings.CutPrefix(ref, "refs/")
	if !ok || name == "" || len(ref) > 250 {
		return "is not a full ref name of at most 250 bytes"
	}
	if strings.ContainsAny(ref, "~^:?*[\\") || strings.IndexFunc(ref, unicode.IsSpace) >= 0 || strings.Contains(ref, "..") ||
		strings.Contains(ref, "@{") || strings.HasSuffix(ref, ".") {
		return "is not a valid ref name"
	}
	if diag.Clean(ref) != ref {
		return "holds control, invisible or invalid characters"
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") || strings.HasPrefix(part, "-") {
			return fmt.Sprintf("the part %q is not a valid ref name", part)
		}
	}
	return ""
}
