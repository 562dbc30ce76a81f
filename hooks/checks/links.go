package checks

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

// newLinkCheck makes the check of one push.
func newLinkCheck() Check {
	l := new(links)
	return Check{
		Name: "link",
		Doc: "From the agent no symbolic link is absolute, holds `..`, or leads out of the tree, into .git or to a protected path, " +
			"by other links either, nor stands on the way to one: one such link defeats every check of the paths behind it. Others are warned of links into .git.",
		Rules: []string{"link/target"},
		Blob:  l.judge,
		Tip:   l.judgeTip,
	}
}

// links follows symbolic links in a push's trees.
type links struct {
	followed int                             // names looked up on the links' ways
	folded   map[string]map[string]git.Entry // by tree; see foldedDir
	names    int                             // in folded
}

func (l *links) judge(pass *Pass, c *walk.Commit, change walk.Change, data []byte) {
	if change.New.Mode == git.ModeSymlink {
		what, err := l.bad(pass, c.Tree, change.Path, string(data))
		l.report(pass, diag.Diagnostic{Pos: at(c, change.Path), Ref: c.Ref}, string(data), what, err)
	}
}

// report reports a bad link, or one that cannot be followed.
func (l *links) report(pass *Pass, d diag.Diagnostic, target, what string, err error) {
	if err != nil {
		what = fmt.Sprintf("it cannot be followed: %v", err)
	}
	if what == "" {
		return
	}
	d.Rule, d.Message, d.Hint = "link/target", fmt.Sprintf("the link leads to %q, %s", clip(target), what), "link downwards only, or copy the file"
	if what == onTheWay || what == toTheWay {
		d.Hint = "make it a directory, or copy the files"
	}
	if !pass.Push.Principal.Fenced() {
		d.Severity = diag.Warning
	}
	pass.Report(d)
}

// judgeTip, for a merge from inside the fence, follows the links that differ from main again:
// what is on a link's way may come from the merge's other side. A link that was equally bad
// before the push is not the merge's fault.
func (l *links) judgeTip(pass *Pass, t *walk.Tip) error {
	main := pass.Repo.Main(t.History)
	if !pass.Push.Principal.Fenced() || !t.Merges || main == "" {
		return nil
	}
	base, err := pass.Repo.MergeBase(t.New, main)
	if err != nil {
		return err
	}
	var before string
	if t.Old != git.Zero {
		if before, err = treeOf(pass, t.Old); err != nil {
			return err
		}
	}
	var trees []string
	for _, commit := range []string{main, base} {
		tree, err := treeOf(pass, commit)
		if err != nil {
			return err
		}
		if tree != "" {
			trees = append(trees, tree)
		}
	}
	return pass.Repo.Compare(trees, t.Commit.Tree, func(change walk.Change) error {
		if change.New.Mode != git.ModeSymlink {
			return nil
		}
		data, err := pass.Repo.Blob(change.New.ID, maxTarget)
		if large := (*git.TooLarge)(nil); errors.As(err, &large) {
			return nil // the commit that brings it says so
		}
		if err != nil {
			return err
		}
		what, broken := l.bad(pass, t.Commit.Tree, change.Path, string(data))
		if what != "" && broken == nil && before != "" {
			if same, err := l.was(pass, before, change, string(data), what); same || err != nil {
				return err
			}
		}
		l.report(pass, diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: change.Path}, Ref: t.Ref}, string(data), what, broken)
		return nil
	})
}

// was reports whether a tree has the changed link, equally bad. If the push's look-ups are
// used up, the answer is unknown.
func (l *links) was(pass *Pass, tree string, change walk.Change, target, what string) (bool, error) {
	if had, _, err := pass.Repo.Lookup(tree, change.Path); err != nil || had != change.New {
		return false, err
	}
	then, broken := l.bad(pass, tree, change.Path, target)
	return broken == nil && then == what && l.followed <= maxFollowed, nil
}

// clip keeps a quoted text short.
func clip(text string) string { return diag.Cut(text, 200) }

// maxTarget is the longest target that Linux follows.
const maxTarget = 4095

// bad says what is wrong with a link in a tree, "" for nothing.
func (l *links) bad(pass *Pass, tree, link, target string) (what string, err error) {
	if !pass.Push.Principal.Fenced() {
		to, what, err := l.follow(pass, tree, path.Dir(link), target)
		switch {
		case err != nil || what == intoGit || what == "" && dotGit().Covers(to):
			return intoGit, err
		case what == bySpent && l.followed == maxFollowed+1: // a warning says it once
			return what + ": neither it nor any link behind it is followed", nil
		}
		return "", nil
	}
	if what := badTarget(target); what != "" {
		return what, nil
	}
	protected := pass.Protected()
	switch {
	case protected.Leads(link):
		return onTheWay, nil
	case protected.Covers(path.Join(path.Dir(link), target)):
		return intoProtected, nil
	}
	to, what, err := l.follow(pass, tree, path.Dir(link), target)
	switch {
	case err != nil || what != "":
	case to == "":
		what = "the whole tree"
	case protected.Covers(to):
		what = intoProtected
	case protected.Leads(to):
		what = toTheWay
	}
	return what, err
}

// badTarget says what is wrong with a link's target anywhere, "" for nothing.
func badTarget(target string) string {
	drive := len(target) >= 2 && target[1] == ':'
	switch {
	case target == "" || len(target) > maxTarget:
		return "which no system follows"
	case strings.HasPrefix(target, "/") || drive || slices.Contains(strings.Split(target, "/"), ".."):
		return "out of its own directory"
	case strings.Contains(target, `\`):
		return "which is another path where a backslash parts names"
	}
	if h, found := diag.FindHidden(target, false); found {
		return "which holds " + h.What
	}
	for name := range strings.SplitSeq(target, "/") {
		if name != "" && name != "." && filename.Key(name) == "" {
			return "which some systems take for another path"
		}
	}
	return ""
}

const (
	intoGit       = "into .git"
	intoProtected = "a path that only the PM may change"
	onTheWay      = "and stands on the way to a path that only the PM may change"
	toTheWay      = "on the way to a path that only the PM may change"
	bySpent       = "by more names than are looked up in one push"
)

// maxHops bounds the links on the way of one link, as Linux does; maxFollowed the
// names that are looked up on the ways of a whole push, since each reads trees.
const (
	maxHops     = 40
	maxFollowed = 200_000
)

// follow resolves target from dir in a tree through its links, as a case-folding file system
// would. It says what is wrong on the way, "" for nothing.
func (l *links) follow(pass *Pass, tree, dir, target string) (to, what string, err error) {
	var at []string
	if dir != "." {
		at = strings.Split(dir, "/")
	}
	rest := strings.Split(target, "/")
	none := maxTarget // how many names lead to where nothing is
	for hops := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == "..":
			if len(at) == 0 {
				return "", "out of the tree", nil
			}
			if at = at[:len(at)-1]; len(at) <= none {
				none = maxTarget
			}
			continue
		case filename.Is(name, ".git"):
			return "", intoGit, nil
		}
		at = append(slices.Clip(at), name)
		if len(at) > none {
			continue
		}
		if l.followed++; l.followed > maxFollowed {
			return "", bySpent, nil
		}
		link, isLink, err := l.linkAt(pass, tree, at)
		if errors.Is(err, errNothing) {
			none, err = len(at)-1, nil
		}
		if err != nil {
			return "", "", err
		}
		if !isLink {
			continue
		}
		if hops++; hops > maxHops {
			return "", "by more links than are followed here", nil
		}
		if strings.HasPrefix(link, "/") {
			return "", "out of the tree", nil
		}
		at, rest = at[:len(at)-1], append(strings.Split(link, "/"), rest...)
	}
	return strings.Join(at, "/"), "", nil
}

var errNothing = errors.New("nothing is there")

// linkAt reads the link's target at a path; ok is false for another kind of entry, and the
// error is errNothing if nothing is there.
func (l *links) linkAt(pass *Pass, tree string, names []string) (target string, ok bool, err error) {
	e := git.Entry{Mode: git.ModeDir, ID: tree}
	for _, name := range names {
		if !e.IsDir() {
			return "", false, errNothing
		}
		dir, err := l.foldedDir(pass, e.ID)
		if err != nil {
			return "", false, err
		}
		var there bool
		if e, there = dir[filename.Key(name)]; !there {
			return "", false, errNothing
		}
	}
	if e.Mode != git.ModeSymlink {
		return "", false, nil
	}
	data, err := pass.Repo.Blob(e.ID, maxTarget)
	if _, ok := errors.AsType[*git.TooLarge](err); ok {
		return "/", true, nil // which leads nowhere good either
	}
	return string(data), true, err
}

// foldedDir indexes a tree by its folded names. Of two names with one key the link counts,
// because it is unknown which one a file system keeps.
func (l *links) foldedDir(pass *Pass, id string) (map[string]git.Entry, error) {
	if dir, ok := l.folded[id]; ok {
		return dir, nil
	}
	entries, err := pass.Repo.Tree(id)
	if err != nil {
		return nil, err
	}
	dir := make(map[string]git.Entry, len(entries))
	for _, e := range entries {
		key := filename.Key(e.Name)
		if other, twice := dir[key]; !twice || other.Mode != git.ModeSymlink {
			dir[key] = e
		}
	}
	if l.names += len(dir); l.folded == nil || l.names > walk.MaxEntries {
		l.folded, l.names = map[string]map[string]git.Entry{}, len(dir)
	}
	l.folded[id] = dir
	return dir, nil
}
