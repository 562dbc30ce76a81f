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
)

// Surface has what the Go files that the work changed show to other packages, before it and after,
// as one hash each, and which declarations differ: "DIRECTORY: DECLARATION". A changed one is
// among both.
type Surface struct {
	Before string   `json:"before"`
	After  string   `json:"after"`
	Gone   []string `json:"gone"`
	New    []string `json:"new"`
}

// surfaces takes the snapshots of the changed files: what the others show is the same. Where a file
// is too large to be read, or all of them are, no snapshot is made.
func (t *trying) surfaces(ctx context.Context, f *Facts, tree string) error {
	raw, err := t.repo.Output(ctx, "diff-tree", "-r", "-z", "--no-renames", t.claim.Base, tree)
	if err != nil {
		return err
	}
	batch := t.repo.Batch(ctx)
	defer batch.Close()
	var shown [2][]string
	fields, size := strings.Split(string(raw), "\x00"), 0
	for i := 0; i+1 < len(fields); i += 2 {
		meta, name := strings.Fields(strings.TrimPrefix(fields[i], ":")), fields[i+1]
		if len(meta) != 5 || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for side := range shown {
			if !strings.HasPrefix(meta[side], "100") {
				continue
			}
			_, src, err := batch.Read(meta[2+side], maxSource)
			var large *git.TooLarge
			if size += len(src); errors.As(err, &large) || size > maxSources {
				f.NotDone = append(f.NotDone, "snapshots of the interface: "+name+" is too large, or all files are")
				return nil
			}
			if err != nil {
				return err
			}
			for _, line := range exported(src) {
				shown[side] = append(shown[side], path.Dir(name)+": "+line)
			}
		}
	}
	for side := range shown {
		slices.Sort(shown[side])
	}
	f.Surface = &Surface{hashOf(shown[0]), hashOf(shown[1]), notIn(shown[0], shown[1]), notIn(shown[1], shown[0])}
	return nil
}

func hashOf(lines []string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}

// notIn are the lines of one sorted list that another does not have.
func notIn(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		_, there := slices.BinarySearch(others, line)
		return there
	})
}
