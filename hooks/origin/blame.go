package origin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/git"
)

// Range is a run of lines that git blame attributes to one commit.
type Range struct {
	Commit string // git.Zero for what is in no commit
	First  int    // of the file as it is looked at, from 1
	Count  int
	Path   string // in the commit
	Line   int    // of First, in the commit
}

// Git runs git and returns what it prints: in a repository, or in a working tree.
type Git func(args ...string) (string, error)

// Blame asks git blame for a file's lines first to last, all of them for 0 and 0; rev ""
// looks at the working tree that run works in. No program that an attribute names turns a
// file into text, and no file says which commits are passed over.
func Blame(run Git, rev, path string, first, last int) ([]Range, error) {
	args := []string{"blame", "--incremental", "--no-textconv", "--ignore-revs-file="}
	if first > 0 {
		args = append(args, fmt.Sprintf("-L%d,%d", first, last))
	}
	if rev != "" {
		args = append(args, rev)
	}
	out, err := run(append(args, "--", path)...)
	if err != nil {
		return nil, err
	}
	return parseBlame(out)
}

// parseBlame reads what git blame --incremental prints: for each range a line with the
// commit and three numbers, then what is told of it, of which the file's name comes last.
func parseBlame(out string) (list []Range, err error) {
	var at Range
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "filename "); ok {
			if at.Path, err = unquote(name); err != nil {
				return nil, err
			}
			list = append(list, at)
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 || !git.IsID(f[0]) {
			continue
		}
		numbers := [3]int{}
		for i := range numbers {
			if numbers[i], err = strconv.Atoi(f[i+1]); err != nil {
				return nil, fmt.Errorf("git blame says %.80q", line)
			}
		}
		at = Range{Commit: f[0], Line: numbers[0], First: numbers[1], Count: numbers[2]}
	}
	slices.SortFunc(list, func(a, b Range) int { return a.First - b.First })
	return list, nil
}

// unquote reads a path as git prints it: in quotes where it holds what is no plain text.
func unquote(name string) (string, error) {
	if !strings.HasPrefix(name, `"`) {
		return name, nil
	}
	path, err := strconv.Unquote(name)
	if err != nil {
		return "", fmt.Errorf("git blame names the file %.80q", name)
	}
	return path, nil
}

// lineBefore is where a line of a file of one commit stands in the same file of another, 0
// where it is not from there.
func lineBefore(ctx context.Context, repo *git.Repo, from, to, path string, line int) (int, error) {
	moved := 0 // lines that stand before it now, and did not
	for text, err := range repo.Lines(ctx, "diff", "--unified=0", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--end-of-options", from, to, "--", ":(top,literal)"+path) {
		if err != nil {
			return 0, err
		}
		var start, count, newStart, newCount int
		if !hunk(text, &start, &count, &newStart, &newCount) {
			continue
		}
		if newCount > 0 && line >= newStart && line < newStart+newCount {
			return 0, nil
		}
		if newStart+max(newCount, 1)-1 < line {
			moved += newCount - count
		}
	}
	return line - moved, nil
}

// hunk reads "@@ -1,2 +3 @@", of which a count that is left out is 1.
func hunk(text string, numbers ...*int) bool {
	f := strings.Fields(text)
	if len(f) < 4 || f[0] != "@@" || f[3] != "@@" {
		return false
	}
	for i, side := range []string{strings.TrimPrefix(f[1], "-"), strings.TrimPrefix(f[2], "+")} {
		start, count, found := strings.Cut(side, ",")
		if !found {
			count = "1"
		}
		var err error
		if *numbers[2*i], err = strconv.Atoi(start); err != nil {
			return false
		}
		if *numbers[2*i+1], err = strconv.Atoi(count); err != nil {
			return false
		}
	}
	return true
}
