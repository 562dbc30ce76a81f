package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Difference is one path that differs between two commits, by git's --raw and --numstat
// without rename detection. An absent side has no mode and no id.
type Difference struct {
	Path     string
	Old, New Entry // their names are empty
	Added    int   // lines; -1 for what git takes for binary
	Deleted  int
}

// Compare lists the paths that differ between two commits or trees, in git's order. More than
// limit is an error. Use it on a repository from Apart.
func (r *Repo) Compare(ctx context.Context, from, to string, limit int) ([]Difference, error) {
	return differences(r.Records(ctx, slices.Concat([]string{"diff-tree"}, pathsArgs, []string{from, to, "--"})...), limit)
}

// What git diff-tree is asked for: the paths that differ, and the difference itself.
var (
	pathsArgs = []string{"-r", "-z", "--raw", "--numstat", "--no-abbrev", "--no-renames"}
	patchArgs = []string{"-r", "--patch", "--full-index", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/"}
)

// differences reads records that git diff-tree prints for pathsArgs.
func differences(records iter.Seq2[string, error], limit int) ([]Difference, error) {
	next, stop := iter.Pull2(records)
	defer stop()
	var list []Difference
	byPath := map[string]int{}
	for {
		head, err, more := next()
		if err != nil || !more {
			return list, err
		}
		if strings.HasPrefix(head, ":") { // :<mode> <mode> <id> <id> <status>, and then the path
			path, err, more := next()
			if err != nil || !more {
				return nil, errors.Join(err, errors.New("git diff-tree: the output breaks off"))
			}
			if len(list) == limit {
				return nil, fmt.Errorf("more than %d paths differ", limit)
			}
			d, err := rawDifference(head, path)
			if err != nil {
				return nil, err
			}
			byPath[path] = len(list)
			list = append(list, d)
			continue
		}
		added, rest, _ := strings.Cut(head, "\t")
		deleted, path, ok := strings.Cut(rest, "\t")
		i, known := byPath[path]
		if !ok || !known {
			return nil, fmt.Errorf("git diff-tree: unexpected answer %q", head)
		}
		list[i].Added, list[i].Deleted = lineCount(added), lineCount(deleted)
	}
}

// rawDifference reads the first half of a line of --raw.
func rawDifference(head, path string) (d Difference, err error) {
	words := strings.Fields(strings.TrimPrefix(head, ":"))
	if len(words) != 5 {
		return d, fmt.Errorf("git diff-tree: unexpected answer %q", head)
	}
	side := func(mode, id string) Entry {
		n, bad := strconv.ParseUint(mode, 8, 32)
		err = errors.Join(err, bad)
		if id == Zero {
			return Entry{}
		}
		return Entry{Mode: Mode(n), ID: id}
	}
	return Difference{Path: path, Old: side(words[0], words[2]), New: side(words[1], words[3])}, err
}

// lineCount is a number of --numstat, -1 for its "-".
func lineCount(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

// Merged is the result of merging two commits.
type Merged struct {
	Tree      string
	Conflicts []string // paths; with any, Tree is of no use
}

// MergeTrees merges two commits that have an ancestor in common as git merge does, and writes
// the tree (git-merge-tree(1)). Use it on a repository from Apart.
func (r *Repo) MergeTrees(ctx context.Context, ours, theirs string) (m Merged, err error) {
	out, err := r.output(ctx, nil, 1, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
	if err != nil {
		return m, err
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if !IsID(words[0]) {
		return m, fmt.Errorf("git merge-tree: unexpected answer %.80q", out)
	}
	return Merged{words[0], words[1:]}, nil
}

// MergeEach merges a commit with each of several, by one child, and answers by these commits' ids.
// It may lack some: one pair that cannot be merged ends the child. MergeTrees says why. Use it on a
// repository from Apart.
func (r *Repo) MergeEach(ctx context.Context, ours string, theirs []string) (map[string]Merged, error) {
	ask := ""
	for _, id := range theirs {
		ask += ours + " " + id + "\n"
	}
	child := r.reader(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "--stdin")
	var out bytes.Buffer
	child.Stdin, child.Stdout = strings.NewReader(ask), &out
	err := child.Start()
	if err == nil {
		child.Wait() // what it said before it failed holds
		err = ctx.Err()
	}
	all := map[string]Merged{}
	for _, id := range theirs {
		clean, _ := out.ReadString(0) // 1, or 0 with conflicts
		tree, _ := out.ReadString(0)
		m := Merged{Tree: strings.TrimSuffix(tree, "\x00")}
		if (clean != "1\x00" && clean != "0\x00") || !IsID(m.Tree) {
			break
		}
		path, cut := out.ReadString(0)
		for ; cut == nil && path != "\x00"; path, cut = out.ReadString(0) {
			m.Conflicts = append(m.Conflicts, strings.TrimSuffix(path, "\x00"))
		}
		if cut != nil {
			break
		}
		all[id] = m
	}
	return all, err
}
