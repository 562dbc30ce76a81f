package verifier

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
	"git-ward/internal/sources"
)

// Bounds limit the size of a checkout. They are checked before anything is written, because a few
// kilobytes of objects can name a million files.
type Bounds struct {
	Entries int   // files, links and directories
	Depth   int   // directories one in the other
	Bytes   int64 // of all files, inflated
}

// What Linux can hold, whatever the settings say: a larger checkout would fail again at every try.
const (
	maxName   = 255  // bytes of a file's name
	maxPath   = 3800 // bytes of a path, below some directory of ours (PATH_MAX is 4,096)
	maxTarget = 4095 // bytes that a symbolic link holds
)

// Unfit says why a claimed commit can never be judged: the reason is in its content, so that trying again
// would not help.
type Unfit struct{ Why string }

func (u *Unfit) Error() string { return u.Why }

func unfit(format string, args ...any) error { return &Unfit{fmt.Sprintf(format, args...)} }

// list caches listTree, because the controls list the same few trees again and again. Callers do not
// change the result.
func (t *trying) list(ctx context.Context, tree string) (all sources.Tree, err error) {
	if all = t.listed[tree]; all != nil {
		return all, nil
	}
	if all, err = listTree(ctx, t.repo, tree, t.claim.Bounds); err == nil {
		t.listed[tree] = all
	}
	return all, err
}

// listOf lists a commit's tree. An error names the commit.
func (t *trying) listOf(ctx context.Context, batch *git.Batch, commit string) (sources.Tree, error) {
	tree, err := batch.Info(commit + "^{tree}")
	if err != nil {
		return nil, err
	}
	if all := t.listed[tree.ID]; all != nil {
		return all, nil
	}
	all, err := listTree(ctx, t.repo, commit, t.claim.Bounds)
	if err == nil {
		t.listed[tree.ID] = all
	}
	return all, err
}

// listTree reads a commit's tree within bounds. It stops git there and returns Unfit.
func listTree(ctx context.Context, repo *git.Repo, commit string, b Bounds) (sources.Tree, error) {
	all := sources.Tree{}
	short := diag.Short(commit)
	entries, bytes := 0, int64(0)
	// -t lists directories before their contents, so that a very deep tree shows before git runs out
	// of stack.
	for record, err := range repo.Records(ctx, "ls-tree", "-r", "-t", "-l", "-z", "--full-tree", commit) {
		if err != nil {
			return nil, err
		}
		meta, name, ok := strings.Cut(record, "\t")
		fields := strings.Fields(meta) // mode, kind, id, size
		if !ok || len(fields) != 4 {
			return nil, fmt.Errorf("git ls-tree: unexpected answer %.80q", record)
		}
		entries++
		if entries > b.Entries {
			return nil, unfit("the checkout of %s has more than %d entries ([verify] checkout_entries)", short, b.Entries)
		}
		if strings.Count(name, "/") >= b.Depth {
			return nil, unfit("the checkout of %s is more than %d directories deep ([verify] checkout_depth)", short, b.Depth)
		}
		if why := unusable(name); why != "" {
			return nil, unfit("%s of %s cannot be checked out: %s", diag.Clean(name[:min(len(name), 200)]), short, why)
		}
		if fields[1] == "tree" {
			continue
		}
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err == nil {
			bytes += size
		}
		if bytes > b.Bytes {
			return nil, unfit("the checkout of %s has more than %d bytes ([verify] checkout_size)", short, b.Bytes)
		}
		if fields[0] == "120000" && size > maxTarget {
			return nil, unfit("%s of %s is a symbolic link of %d bytes; at most %d can be made", diag.Clean(name), short, size, maxTarget)
		}
		if fields[0] == "120000" && strings.EqualFold(name, ".gitmodules") {
			return nil, unfit("%s of %s cannot be checked out: git takes it as a file only", diag.Clean(name), short)
		}
		all[name] = fields[0] + " " + fields[2]
	}
	return all, nil
}

// unusable says why git would not write a path into a working tree, "" if it would. It checks only the
// last part, because the directories above came before.
func unusable(name string) string {
	part := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case len(part) > maxName:
		return fmt.Sprintf("a name of more than %d bytes", maxName)
	case len(name) > maxPath:
		return fmt.Sprintf("a path of more than %d bytes", maxPath)
	case part == "" || part == "." || part == "..":
		return "it is no name of a file"
	case isDotGit(part):
		return "git keeps that name for itself"
	}
	return ""
}

// isDotGit reports whether some file system treats a name as .git (internal/filename), or some system its
// part before a backslash. git's own verify_path checks the same.
func isDotGit(name string) bool {
	before, _, _ := strings.Cut(name, `\`)
	return filename.Is(before, ".git")
}

// Tree returns a commit's files as listTree reads them.
func Tree(ctx context.Context, repo *git.Repo, commit string, b Bounds) (map[string]string, error) {
	return listTree(ctx, repo, commit, b)
}
