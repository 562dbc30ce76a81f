package hooks

import (
	"fmt"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/object"
	"git-ward/protocols/charter"
	"git-ward/protocols/comms"
)

// content makes the first commit, or adds the documents to a main without
// COMMS.md; what stands there is never changed.
func (in *initializer) content() error {
	main, err := in.repo.Ref(in.ctx, "refs/heads/main")
	if err != nil {
		return err
	}
	if err := in.head(main); err != nil {
		return err
	}
	files, err := object.Files(in.assets.Template)
	if err != nil {
		return err
	}
	store := object.Open(in.dir)
	c := object.Commit{Who: object.Signature("Ward", "ward@localhost", time.Now()), Message: "ward: first commit, from the template\n"}
	base := ""
	if main != git.Zero {
		tree, names, err := store.Tree(main)
		if err != nil {
			return err
		}
		if names[comms.Path] != "" {
			return nil
		}
		base, c.Parents, c.Message = tree, []string{main}, "ward: add the documents that Ward works with\n"
		for path := range files {
			top, _, _ := strings.Cut(path, "/")
			if names[top] != "" {
				delete(files, path)
			}
		}
		if names[charter.Compiled] != "" && names[strings.TrimSuffix(charter.Dir, "/")] == "" {
			in.did("kept your %s: move its text to %sproject.protocol.md before git ward protocol compile replaces it", charter.Compiled, charter.Dir)
		}
	}
	commit, err := store.WriteCommit(base, files, c)
	if err != nil {
		return err
	}
	in.did("committed the template to main: %s", strings.Join(topNames(files), " "))
	return in.repo.UpdateRefs(in.ctx, "ward: init", git.RefUpdate{Ref: "refs/heads/main", Old: main, New: commit})
}

// head makes HEAD, which a clone checks out, name main. A repository whose
// history is on a branch of another name is not touched: its owner renames it.
func (in *initializer) head(main string) error {
	out, err := in.repo.Output(in.ctx, "symbolic-ref", "HEAD")
	if err != nil {
		return err
	}
	now := strings.TrimSpace(string(out))
	if now == "refs/heads/main" {
		return nil
	}
	id, err := in.repo.Ref(in.ctx, now)
	if err != nil {
		return err
	}
	if id != git.Zero && main == git.Zero {
		name := strings.TrimPrefix(now, "refs/heads/")
		return diag.Hint(fmt.Errorf("the repository's branch is %s; Ward works with main", name),
			"git --git-dir=%s branch -m %s main, then run this again", in.dir, name)
	}
	if id != git.Zero {
		return nil // the owner's choice
	}
	in.did("made HEAD name main")
	_, err = in.repo.Output(in.ctx, "symbolic-ref", "HEAD", "refs/heads/main")
	return err
}

func topNames(files map[string][]byte) []string {
	var names []string
	seen := map[string]bool{}
	for path := range files {
		top, _, _ := strings.Cut(path, "/")
		if !seen[top] {
			seen[top] = true
			names = append(names, top)
		}
	}
	return sorted(names)
}

// genesis records refs that no push brought: the first commit, and those of a
// repository that was there before Ward.
func (in *initializer) genesis() error {
	batch := in.repo.Batch(in.ctx)
	defer batch.Close()
	if _, err := audit.Reconcile(in.ctx, in.repo, batch); err != nil {
		in.did("left a push unrecorded: %v; git ward fsck --repair", err)
	}
	chain, err := readChain(in.ctx, in.repo, batch)
	if err != nil {
		return err
	}
	r, err := unrecorded(in.ctx, in.repo, chain)
	if err != nil || len(r.Refs) == 0 {
		return err
	}
	w, err := audit.NewWriter(in.ctx, in.repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	in.did("recorded %s in the audit", diag.Count(len(r.Refs), "ref"))
	// A repository that was there before Ward may have more refs than one record takes.
	all := r.Refs
	for n := 1; len(all) > 0; n++ {
		part, size, count := *r, 0, 0
		part.Push = "init-" + r.Time.Format("20060102T150405Z")
		if n > 1 {
			part.Push += fmt.Sprintf("-%d", n)
		}
		for count < min(len(all), audit.MaxRefs) && size < audit.MaxRefBytes {
			size += audit.SizeOf(all[count].Ref)
			count++
		}
		part.Refs, all = all[:count], all[count:]
		if err := w.Append(in.ctx, audit.Entry{Record: &part}); err != nil {
			return err
		}
	}
	return nil
}
