package checks

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

var refCheck = Check{
	Name: "ref",
	Doc: "Refuses ref names that git or people take for another thing, and two that are one where case or accents fold (HOOK-4b); refs " +
		"that only the host moves, replacement objects, and the deletion of main.",
	Ref: func(r *Run, u push.Update) {
		report := func(rule, message, hint string) {
			r.Report(diag.Diagnostic{Ref: u.Ref, Rule: rule, Message: message, Hint: hint})
		}
		key := filename.PathKey(u.Ref) // a ref is a file
		switch {
		case slices.Contains(push.HostOnly, key):
			report("ref/host-only", "only the host moves this ref", "leave it out of the push: git push origin HEAD")
		case strings.HasPrefix(key, "refs/replace/"):
			report("ref/replace", "replacement objects would change what others read", "delete it: git replace -d")
		case strings.HasPrefix(key+"/", "refs/ward/") && !push.IsJournal(u.Ref):
			report("ref/ward", "nothing is kept below refs/ward/ under this name",
				"leave it out of the push: git push origin HEAD")
		case push.IsMain(u.Ref) && u.New == git.Zero:
			report("ref/delete-main", "main cannot be deleted", "push a commit that reverts what you want gone")
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
	Tip: func(r *Run, t *Tip) error {
		if t.Old != git.Zero {
			return nil
		}
		if err := r.collisions(t); err != nil {
			return err
		}
		return r.shortID(t)
	},
}

// collisions refuses a new ref that another one stands in the way of, here or on a
// file system that folds names, and a tag and a branch of one name.
func (r *Run) collisions(t *Tip) error {
	others, err := r.refNames()
	if err != nil {
		return err
	}
	report := func(rule, format, other, hint string) {
		r.Report(diag.Diagnostic{Ref: t.Ref, Rule: rule, Message: fmt.Sprintf(format, other), Hint: hint})
	}
	key := filename.PathKey(t.Ref)
	tag, isTag := strings.CutPrefix(key, "refs/tags/")
	branch, isBranch := strings.CutPrefix(key, "refs/heads/")
	for _, other := range others {
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

// refName is a ref as it will be after the push, if it is accepted.
type refName struct{ name, key string }

// underWay lists the refs that other pushes are about to move. Two that are judged at
// the same time may both be refused; else both would enter.
func (r *Run) underWay() ([]string, error) {
	if r.UnderWay == nil {
		return nil, nil
	}
	return r.UnderWay()
}

// refNames lists the branches and tags that will be there, read once a push.
func (r *Run) refNames() ([]refName, error) {
	if r.refs != nil {
		return r.refs, nil
	}
	// Before the refs are read: who has moved his by then is seen there.
	coming, err := r.underWay()
	if err != nil {
		return nil, err
	}
	out, err := r.repo.Output(r.ctx, "for-each-ref", "--format=%(refname)", r.Branches, "refs/tags/", "refs/notes/")
	if err != nil {
		return nil, err
	}
	gone, there := map[string]bool{}, map[string]bool{}
	for _, name := range coming {
		there[name] = true
	}
	for _, u := range r.Updates {
		gone[u.Ref], there[u.Ref] = u.New == git.Zero, u.New != git.Zero
	}
	for name := range strings.FieldsSeq(string(out)) {
		if branch, ok := strings.CutPrefix(name, r.Branches); ok {
			name = "refs/heads/" + branch
		}
		there[name] = !gone[name]
	}
	r.refs = []refName{}
	for name, is := range there {
		if is {
			r.refs = append(r.refs, refName{name, filename.PathKey(name)})
		}
	}
	slices.SortFunc(r.refs, func(a, b refName) int { return strings.Compare(a.name, b.name) })
	return r.refs, nil
}

// shortID refuses a branch or a tag whose name is the short id of an object: git
// takes the ref, people who copy ids from git log mean the object.
func (r *Run) shortID(t *Tip) error {
	_, short, _ := strings.Cut(strings.TrimPrefix(t.Ref, "refs/"), "/")
	const least = 7 // git's own abbreviation
	key := strings.ToLower(short)
	if !push.IsHex(key) || len(key) < least || len(key) > 40 {
		return nil
	}
	out, err := r.repo.Output(r.ctx, "rev-parse", "--disambiguate="+key)
	if err == nil && len(out) > 0 {
		r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "ref/name", Message: "a ref of this name is mistaken for the object " + diag.Short(string(out)), Hint: "take another name"})
	}
	return err
}
