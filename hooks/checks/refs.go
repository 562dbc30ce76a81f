package checks

import (
	"fmt"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

var refCheck = Check{
	Name: "ref",
	Doc: "Refuses ref names that git or people take for another thing, and two that are one where case or accents fold (HOOK-4b); refs " +
		"that only the host moves, replacement objects, what moves another ref than it names, and the deletion of main, of the control branch, and of what is not there.",
	Rules: []string{"ref/twice", "ref/stale", "ref/symbolic", "ref/host-only", "ref/replace", "ref/ward", "ref/delete-main", "ref/absent", "ref/name", "ref/object", "ref/collision"},
	Ref: func(pass *Pass, u push.Update) {
		report := func(rule, message, hint string) {
			pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: rule, Message: message, Hint: hint})
		}
		key := filename.PathKey(u.Ref) // a ref is a file
		switch {
		case push.IsHostOnly(key): // one below it would be in its way
			report("ref/host-only", "only the host moves this ref", "leave it out of the push: git push origin HEAD")
		case strings.HasPrefix(key, "refs/replace/"):
			report("ref/replace", "replacement objects would change what others read", "delete it: git replace -d")
		case strings.HasPrefix(key+"/", "refs/ward/") && !push.IsJournal(u.Ref) && !push.IsRecord(u.Ref) && !push.IsTake(u.Ref):
			report("ref/ward", "nothing is kept below refs/ward/ under this name",
				"leave it out of the push: git push origin HEAD")
		case pass.Push.isMain(u.Ref) && u.New == git.Zero:
			report("ref/delete-main", branchName(u.Ref)+" cannot be deleted", "push a commit that reverts what you want gone")
		case u.Old == git.Zero && u.New == git.Zero:
			// Git runs no hook after this one, so the record would wait for the next push, and
			// it deletes whatever is created there meanwhile.
			report("ref/absent", "there is no such ref to delete", "leave it out of the push")
		}
		reason := push.BadName(u.Ref)
		if u.New == git.Zero {
			reason = "" // what has such a name may go
		}
		if reason != "" {
			report("ref/name", reason, "push it under a plain name, such as refs/heads/topic")
			return
		}
		if !git.IsID(u.Old) || !git.IsID(u.New) {
			report("ref/object", "the update does not name two SHA-1 object ids", "use a SHA-1 repository")
		}
	},
	Tip: func(pass *Pass, t *walk.Tip) error {
		if t.Old != git.Zero || t.Beside {
			return nil
		}
		if err := collisions(pass, t); err != nil {
			return err
		}
		return shortID(pass, t)
	},
}

// branchName is a branch's short name.
func branchName(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// collisions refuses a new ref that conflicts with an existing one, here or on a case-folding
// file system, and a tag and a branch of the same name.
func collisions(pass *Pass, t *walk.Tip) error {
	refs, err := pass.refs()
	if err != nil {
		return err
	}
	report := func(rule, format, other, hint string) {
		pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: rule, Message: fmt.Sprintf(format, other), Hint: hint})
	}
	key := filename.PathKey(t.Ref)
	tag, isTag := strings.CutPrefix(key, "refs/tags/")
	branch, isBranch := strings.CutPrefix(key, "refs/heads/")
	for _, other := range refs.after {
		if other.name == t.Ref {
			continue
		}
		switch {
		case other.key == key:
			report("ref/collision", "and %s are one ref where file names fold", other.name, "take another name, or delete that ref first")
		case strings.HasPrefix(other.key, key+"/") || strings.HasPrefix(key, other.key+"/"):
			report("ref/collision", "and %s cannot both be there: one is a file where the other is a directory", other.name, "take another name, or delete that ref first")
		case isTag && other.key == "refs/heads/"+tag:
			report("ref/name", "a tag of this name is mistaken for %s", other.name, "take another name")
		case isBranch && other.key == "refs/tags/"+branch:
			report("ref/name", "a branch of this name is mistaken for %s", other.name, "take another name")
		}
	}
	return nil
}

// shortID refuses a branch or tag named like an object's short id: git takes the ref, but
// people who copy ids from git log mean the object.
func shortID(pass *Pass, t *walk.Tip) error {
	_, short, _ := strings.Cut(strings.TrimPrefix(t.Ref, "refs/"), "/")
	const least = 7 // git's own abbreviation
	key := strings.ToLower(short)
	if !push.IsHex(key) || len(key) < least || len(key) > 40 {
		return nil
	}
	object, err := pass.Repo.Abbreviated(key)
	if err == nil && object != "" {
		pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "ref/name", Message: "a ref of this name is mistaken for the object " + diag.Short(object), Hint: "take another name"})
	}
	return err
}
