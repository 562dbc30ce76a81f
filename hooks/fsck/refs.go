package fsck

import (
	"context"
	"errors"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// refs verifies that git can read every ref, and has the object of each. Git lists no ref whose
// file is broken, so nothing else here sees one; and then git refuses every push, of whatever ref.
// It reports whether all are sound. Only a person at the host can make a symbolic ref. None belongs
// among the refs that Ward and the agent move, and neither branch of the settings may be one.
func (o *objects) refs(ctx context.Context, r *report, control config.Control) (sound bool, err error) {
	sound = true
	found := func(ref, hint, what string) {
		sound = false
		r.add(diag.Clean(ref), "fsck/ref", hint, "%s: git refuses every push", what)
	}
	broken, symbolic, err := o.repo.OddRefs()
	if err != nil {
		return false, err
	}
	for _, s := range symbolic {
		if control.Names(s.Name) {
			r.add(diag.Clean(s.Name), "fsck/ref", "on the host, "+o.repo.OwnRef(ctx, "git", s.Name),
				"it is a symbolic ref to %s, and the gate refuses every push to it", diag.Clean(s.To))
		} else if push.IsAgentBranch(s.Name) || strings.HasPrefix(s.Name, "refs/ward/") || strings.HasPrefix(s.Name, "refs/notes/") {
			r.add(diag.Clean(s.Name), "fsck/ref", "take the name away on the host: git symbolic-ref --delete "+diag.Word(s.Name),
				"it is a symbolic ref to %s: what moves or deletes it with git alone does that to %[1]s", diag.Clean(s.To))
		}
	}
	for _, ref := range broken {
		found(ref, "delete its file on the host, and push the ref again from a clone that has it", "its file holds no object's id")
	}
	tips, err := o.repo.Refs(ctx, "refs/")
	if err != nil {
		return false, err
	}
	for _, tip := range tips {
		_, err := o.batch.Info(tip.ID)
		if err == nil {
			continue
		}
		if !errors.Is(err, git.ErrMissing) {
			return sound, err
		}
		if now, err := o.repo.Ref(ctx, tip.Name); err != nil || now != tip.ID {
			continue // it has moved, and maintenance has freed what it pointed to
		}
		found(tip.Name, "fetch the object from a clone that has it, or delete the ref on the host: git update-ref --no-deref -d", diag.Short(tip.ID)+" is not stored")
	}
	return sound, nil
}
