package fsck

import (
	"context"
	"slices"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
)

// good proves that the list of the programs that held has no hole, and commits only: the
// watcher goes back through it (BOOT-2).
func (w *workProof) good(ctx context.Context) error {
	if bare, err := isBare(ctx, w.repo); err != nil || !bare {
		return err
	}
	const drop = "delete it on the host: git update-ref -d"
	refs := boot.GoodRefs()
	there := 0 // of the list, without a hole
	tips, err := w.repo.Refs(ctx, "refs/ward/boot/")
	if err != nil {
		return err
	}
	if last, err := w.repo.Ref(ctx, boot.LastGood); err != nil {
		return err
	} else if last != git.Zero {
		tips = append([]git.Tip{{Name: boot.LastGood, ID: last}}, tips...)
	}
	for _, tip := range tips {
		at := slices.Index(refs, tip.Name)
		switch info, err := w.objects.batch.Info(tip.ID); {
		case at < 0 && tip.Name != boot.Fallen:
			w.report.add(diag.Clean(tip.Name), "fsck/good", drop, "it is no ref of the programs that held")
		case err != nil || info.Kind != "commit":
			w.report.add(tip.Name, "fsck/good", drop, "it is no commit that is stored")
		case at > there:
			w.report.add(tip.Name, "fsck/good", drop, "%s is missing before it", refs[there])
		}
		if at >= there {
			there = at + 1
		}
	}
	return nil
}
