package verifier

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
)

// surfaces records what the changed Go files export, as lines "DIRECTORY: DECLARATION": the other files
// export the same as before. If a file is too large, or all of them together are, nothing is recorded.
func (t *trying) surfaces(ctx context.Context, f *Facts, tree string) error {
	files, err := goFiles(ctx, t.repo, t.claim.Base, tree)
	if err != nil {
		return err
	}
	batch := t.repo.Batch(ctx)
	defer batch.Close()
	var shown [2][]string
	size := 0
	for _, file := range files {
		for side := range shown {
			if !strings.HasPrefix(file.modes[side], "100") {
				continue
			}
			_, src, err := batch.Read(file.ids[side], maxSource)
			var large *git.TooLarge
			if size += len(src); errors.As(err, &large) || size > maxSources {
				f.NotDone = append(f.NotDone, "snapshots of the interface: "+file.path+" is too large, or all files are")
				return nil
			}
			if err != nil {
				return err
			}
			for _, line := range exported(src) {
				shown[side] = append(shown[side], path.Dir(file.path)+": "+line)
			}
		}
	}
	for side := range shown {
		slices.Sort(shown[side])
	}
	f.Surface = &loop.Surface{Before: hashOf(shown[0]), After: hashOf(shown[1]), Gone: notIn(shown[0], shown[1]), New: notIn(shown[1], shown[0])}
	return nil
}

func hashOf(lines []string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

// notIn lists the lines of one sorted list that another lacks.
func notIn(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		_, there := slices.BinarySearch(others, line)
		return there
	})
}
