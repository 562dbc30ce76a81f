package fsck

import (
	"context"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
)

// good verifies that the list of programs that held, and each counting list, has no gap and
// only commits, as does the list of those that passed a probation: the watcher goes back
// through the first and counts by the others, and the last open main (BOOT-2, HOOK-4).
func (w *workProof) good(ctx context.Context) error {
	if bare, err := w.repo.Bare(ctx); err != nil || !bare {
		return err
	}
	tips, err := w.repo.Refs(ctx, boot.Prefix)
	if err != nil {
		return err
	}
	if last, err := w.repo.Ref(ctx, boot.LastGood); err != nil {
		return err
	} else if last != git.Zero {
		tips = append([]git.Tip{{Name: boot.LastGood, ID: last}}, tips...)
	}
	there := map[string]bool{}
	for _, tip := range tips {
		there[tip.Name] = true
		switch info, err := w.objects.batch.Info(tip.ID); {
		case !boot.IsRef(tip.Name):
			w.report.add(diag.Clean(tip.Name), "fsck/good", drop, "it is no ref of the programs that held")
		case err != nil || info.Kind != "commit":
			w.report.add(tip.Name, "fsck/good", drop, "it is no commit that is stored")
		}
	}
	for _, tip := range tips {
		if before := boot.Before(tip.Name); before != "" && !there[before] {
			w.report.add(tip.Name, "fsck/good", drop, "%s is missing before it", before)
		}
	}
	for ref, other := range map[string]string{boot.PinFrom: boot.PinTo, boot.PinTo: boot.PinFrom} {
		if there[ref] && !there[other] {
			w.report.add(ref, "fsck/good", drop, "%s is missing beside it", other)
		}
	}
	return nil
}
