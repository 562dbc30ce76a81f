package store

import (
	"context"
	"fmt"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

const (
	// maxHistory is how many of the project's newest commits are searched for units' trailers.
	maxHistory = 2_000
	// maxLearnings bounds another directive's LEARNINGS.md, in bytes, far above the loop's own
	// limit.
	maxLearnings = 1 << 20
)

// taken is LEARNINGS.md of the unit whose work was taken into the project last, nil for none.
// It is read from the remote, so that a new directive need not fetch all other records.
func (s *Store) taken(ctx context.Context) ([]byte, error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	project, err := reader.Tip(s.Control.ProjectRef())
	if err != nil || project == "" {
		return nil, err
	}
	out, err := s.main.git(ctx, "log", fmt.Sprintf("--max-count=%d", maxHistory), "--no-show-signature", "--no-notes",
		"--format=%(trailers:key="+record.TrailerRecord+",valueonly,separator=%x20)", s.projectRef(), "--")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, ref := range strings.Fields(out) {
		id, err := record.ParseRef(ref)
		if err != nil || known[ref] {
			continue
		}
		known[ref] = true
		data, err := takenOf(reader, id, project)
		if data != nil || ctx.Err() != nil {
			return data, err
		}
		// A damaged record of another directive must not affect this one.
	}
	return nil, nil
}

// takenOf is a unit's LEARNINGS.md, nil if the project does not contain its last claim,
// whatever a commit message says.
func takenOf(reader *git.Reader, id uow.ID, project string) ([]byte, error) {
	data, err := reader.File(id.Ref(), uow.File, maxLearnings)
	if err != nil || data == nil {
		return nil, err
	}
	last, err := uow.ParseRecord(data)
	if err != nil || last.Claim == nil {
		return nil, err
	}
	if by, err := state.Taken(reader, project, last.Claim.Commit); err != nil || by == "" {
		return nil, err
	}
	return reader.File(record.Ref(id), record.Learnings, maxLearnings)
}
