package state

import (
	"slices"
	"strings"

	"git-ward/protocols/record"
)

// Ancestry answers about the history of the project's branch.
type Ancestry interface {
	// Contains reports whether a commit is tip, or an ancestor of it; false for one that
	// the repository does not have.
	Contains(tip, commit string) (bool, error)
	// Saying are commits whose message holds a text, newest first, each with its whole
	// message: of those that lead to tip and not to commit.
	Saying(tip, commit, text string) (said [][2]string, err error)
	// Tip is a Reader's.
	Tip(ref string) (string, error)
}

// TakenPrefix, with a claimed commit behind it, is where the host keeps the project's commit by
// which a forge merged it, where its history does not say so: a squash, or a rebase (FORGE-4).
const TakenPrefix = "refs/ward/forge/taken/"

// Taken is the commit by which a project has a commit of the work, "" where it does not:
// the commit itself, where it was merged, or one that was made of it and says so by the
// trailer Ward-Taken (REC-3), or that the host saw a forge make of it. tip is the tip of the project's branch. From what was taken
// no next unit goes on (WORK-2).
func Taken(h Ancestry, tip, commit string) (by string, err error) {
	if tip == "" || commit == "" {
		return "", nil
	}
	if in, err := h.Contains(tip, commit); err != nil || in {
		return map[bool]string{true: commit}[in], err
	}
	said, err := h.Saying(tip, commit, record.TrailerTaken+": "+commit)
	if err != nil {
		return "", err
	}
	for _, m := range said {
		if says(m[1], record.TrailerTaken+": "+commit) {
			return m[0], nil
		}
	}
	return h.Tip(TakenPrefix + commit)
}

// says reports whether the last paragraph of a message, which is not its subject, has a
// trailer as one of its lines.
func says(message, trailer string) bool {
	paragraphs := strings.Split(strings.TrimSpace(message), "\n\n")
	last := strings.Split(paragraphs[len(paragraphs)-1], "\n")
	return len(paragraphs) > 1 && slices.ContainsFunc(last, func(line string) bool { return strings.TrimSpace(line) == trailer })
}
