package redact

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// moves are the refs that lead to rewritten commits. A ref that cannot or must not move yet
// refuses everything.
func (w *rewriter) moves() (moves []git.RefUpdate, err error) {
	out, err := w.repo.Output(w.ctx, "for-each-ref", "--format=%(objectname) %(objecttype) %(*objectname) %(refname)")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(words) != 4 {
			return nil, fmt.Errorf("git for-each-ref: unexpected answer %q", line)
		}
		id, kind, peeled, ref := words[0], words[1], words[2], words[3]
		now := w.commits[id]
		switch {
		case kind == "tag" && w.commits[peeled] != "":
			return nil, refused("delete the tag, redact, and tag what is there then", "the annotated tag "+diag.Clean(ref)+" has it")
		case now == "":
			continue
		case !w.follows(ref):
			return nil, refused("delete the ref on the host, if it may go: git update-ref --no-deref -d", diag.Clean(ref)+" has it, which is no branch, no tag and no record")
		}
		moves = append(moves, git.RefUpdate{Ref: ref, Old: id, New: now})
	}
	if len(moves) == 0 {
		return nil, refused("git ward maintain frees what no ref leads to", "no branch and no record has it")
	}
	if len(moves) > audit.MaxRefs/2 {
		return nil, refused("delete branches that nobody needs", fmt.Sprintf("%d refs have it", len(moves)))
	}
	if err := w.tips(moves); err != nil {
		return nil, err
	}
	return moves, w.open(moves)
}

// follows reports whether a ref moves with what it leads to. What the watcher saw to hold is
// commits of branches.
func (w *rewriter) follows(ref string) bool {
	return push.IsBranch(ref) || strings.HasPrefix(ref, "refs/tags/") || strings.HasPrefix(ref, record.Prefix) ||
		boot.IsRef(ref)
}

// tips refuses if a person's branch still has the file at its tip, because its replacement
// text would be checked out, and perhaps read as settings.
func (w *rewriter) tips(moves []git.RefUpdate) error {
	var why []string
	for _, m := range moves {
		if !push.IsBranch(m.Ref) || push.IsAgentBranch(m.Ref) {
			continue
		}
		for entry, err := range w.repo.Records(w.ctx, "ls-tree", "-r", "-z", "--full-tree", m.Old) {
			if err != nil {
				return err
			}
			meta, path, _ := strings.Cut(entry, "\t")
			if words := strings.Fields(meta); len(words) == 3 && w.stones[words[2]] != nil {
				why = append(why, fmt.Sprintf("%s still has %s", strings.TrimPrefix(m.Ref, "refs/heads/"), diag.Clean(path)))
			}
		}
	}
	if len(why) > 0 {
		return refused("take it out with an ordinary commit and push that first; then redact takes it out of the history", why...)
	}
	return nil
}

// open refuses while somebody works on what would move, because they would push it again.
func (w *rewriter) open(moves []git.RefUpdate) error {
	reader := w.repo.Reader(w.ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return err
	}
	var why []string
	for _, u := range units {
		last, err := state.Record(reader, u.Tip)
		if err != nil || last.State == uow.Archived {
			continue // a broken one cannot go on
		}
		if slices.ContainsFunc(moves, func(m git.RefUpdate) bool {
			return m.Ref == record.Ref(u.ID) || m.Ref == "refs/heads/agent/"+u.ID.Directive
		}) {
			why = append(why, fmt.Sprintf("%s is %s, and its branch or its record has it", u.ID, last.State))
		}
	}
	if len(why) > 0 {
		return refused("end it first: git ward uow cancel UNIT; the agent archives it, or git ward uow archive UNIT does", why...)
	}
	return nil
}
