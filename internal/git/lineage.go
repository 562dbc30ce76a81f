package git

import (
	"strings"
)

// Lineage answers questions about many commits and the history of one branch. Three git
// children answer all of them, and walk no further back than the oldest commit that the branch
// does not have.
type Lineage struct {
	known   map[string]bool // the commits that there are
	outside map[string]bool // what they lead to and the branch does not
	reader  *Reader
	said    [][2]string // commits of the branch whose message holds the text, newest first
}

// manyBases is how many commits' common ancestor is looked for: with more of them, what
// walks the whole branch once is quicker.
const manyBases = 100

// Lineage makes one for the branch at tip ("" for none) and some commits. It finds the commits
// that the branch contains, the merges that brought them, and commits whose message contains a
// text.
func (r *Reader) Lineage(tip string, commits []string, text string) (*Lineage, error) {
	l := &Lineage{reader: r, known: map[string]bool{}, outside: map[string]bool{}}
	if err := r.batch.Sizes(commits, func(o Object) { l.known[o.ID] = true }); err != nil {
		return nil, err
	}
	if tip == "" || len(l.known) == 0 {
		return l, nil
	}
	ask := "^" + tip + "\n"
	for id := range l.known {
		ask += id + "\n"
	}
	out, err := r.repo.OutputFrom(r.ctx, []byte(ask), "rev-list", "--stdin")
	if err != nil {
		return nil, err
	}
	for id := range strings.Lines(string(out)) {
		l.outside[strings.TrimSpace(id)] = true
	}
	var left []string
	for id := range l.known {
		if l.outside[id] {
			left = append(left, id)
		}
	}
	if len(left) == 0 {
		return l, nil
	}
	base, err := r.oldestBase(tip, left)
	if err != nil {
		return nil, err
	}
	l.said, err = r.Saying(tip, base, text)
	return l, err
}

// oldestBase is a commit to which a tip and all of some commits lead, Zero where there is
// none, or too many ask.
func (r *Reader) oldestBase(tip string, commits []string) (string, error) {
	if len(commits) > manyBases {
		return Zero, nil
	}
	args := append([]string{"merge-base", "--octopus", "--end-of-options", tip}, commits...)
	out, err := r.repo.Output(r.ctx, args...)
	if SaidNo(err) { // one of them shares no history
		return Zero, nil
	}
	return strings.TrimSpace(string(out)), err
}

// Contains is Reader.Contains for the commits given to Lineage.
func (l *Lineage) Contains(_, commit string) (bool, error) {
	return l.known[commit] && !l.outside[commit], nil
}

// Base is the merge base of the branch and a commit given to Lineage. ok is false where only git can
// say: where what the branch does not have of the commit's history is more than one line. A shallow
// clone's commits name parents that git does not follow: it is not for one.
func (l *Lineage) Base(commit string) (base string, ok bool, err error) {
	if !l.known[commit] {
		return "", false, nil
	}
	for l.outside[commit] {
		parents, err := l.reader.parents(commit)
		if err != nil || len(parents) != 1 {
			return "", false, err
		}
		commit = parents[0]
	}
	return commit, true, nil
}

// Saying is Reader.Saying for texts that contain the one given to Lineage.
func (l *Lineage) Saying(_, _, text string) (said [][2]string, err error) {
	for _, m := range l.said {
		if strings.Contains(m[1], text) {
			said = append(said, m)
		}
	}
	return said, nil
}

// MergeOf returns the first-parent commit of a branch that brought a commit: full ref name and
// object id in, object id out.
func (r *Reader) MergeOf(branch, commit string) (string, error) {
	out, err := r.repo.Output(r.ctx, "rev-list", "--first-parent", "--ancestry-path", "--reverse", "--end-of-options", branch, "^"+commit)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if first == "" {
		return commit, nil
	}
	parent, err := r.Parent(first)
	if err != nil || parent == commit {
		return commit, err // it lies on the branch's own line: a squash, or a fast-forward
	}
	return first, nil
}

// Tip is the Reader's.
func (l *Lineage) Tip(ref string) (string, error) { return l.reader.Tip(ref) }
