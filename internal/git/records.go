package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"git-ward/internal/lines"
)

// maxRecord bounds one record of Records, in bytes.
const maxRecord = 1 << 20

// Records runs a reading git command whose output is NUL-ended records (-z) and yields them as
// they come, without their ends. Breaking off the loop ends the child. A record over 1 MiB is
// an error; so is any end of the child but exit 0, unless the caller broke off.
func (r *Repo) Records(ctx context.Context, args ...string) iter.Seq2[string, error] {
	return r.pieces(ctx, 0, maxRecord, args)
}

// Has reports whether a commit's tree has all of these paths.
func (r *Repo) Has(ctx context.Context, commit string, paths ...string) (bool, error) {
	found := 0
	for _, err := range r.Tree(ctx, commit, paths...) {
		if err != nil {
			return false, err
		}
		found++
	}
	return found == len(paths), nil
}

// Tree yields the entries of a commit's tree, or those at some literal paths, in the form of
// git ls-tree.
func (r *Repo) Tree(ctx context.Context, commit string, paths ...string) iter.Seq2[string, error] {
	if list, ok := r.plainTree(ctx, commit, paths); ok {
		return func(yield func(string, error) bool) {
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	return r.Records(ctx, append([]string{"ls-tree", "-z", "--full-tree", commit, "--"}, paths...)...)
}

// plainTree is what Tree says of trees that are as git would write them, read through a
// Batch. With ok false, git has to be asked.
func (r *Repo) plainTree(ctx context.Context, commit string, paths []string) (list []string, ok bool) {
	batch := r.Batch(ctx)
	defer batch.Close()
	read := func(name string) ([]Entry, error) {
		_, data, err := batch.Read(name, maxTree)
		if err != nil {
			return nil, err
		}
		return ParseTree(data)
	}
	top, err := read(commit + "^{tree}")
	if err != nil {
		return nil, false
	}
	if len(paths) == 0 {
		for _, e := range top {
			list = append(list, e.line(e.Name))
		}
		return list, true
	}
	below := map[string][]Entry{} // by the trees' ids
	for _, path := range paths {
		entries := top
		for name, rest, deeper := strings.Cut(path, "/"); ; name, rest, deeper = strings.Cut(rest, "/") {
			i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
			if i < 0 || deeper && !entries[i].IsDir() {
				break
			}
			if !deeper {
				list = append(list, entries[i].line(path))
				break
			}
			id := entries[i].ID
			if entries = below[id]; entries == nil {
				if entries, err = read(id); err != nil {
					return nil, false
				}
				below[id] = entries
			}
		}
	}
	return list, true
}

// line is the entry as git ls-tree prints it.
func (e Entry) line(path string) string {
	kind := map[Mode]string{ModeDir: "tree", ModeGitlink: "commit"}[e.Mode]
	return fmt.Sprintf("%06o %s %s\t%s", uint32(e.Mode), cmp.Or(kind, "blob"), e.ID, path)
}

// maxLine bounds one line of Lines, in bytes: what a blob may be, and more.
const maxLine = 256 << 20

// Lines is Records for output in lines. A last line need not have an end.
func (r *Repo) Lines(ctx context.Context, args ...string) iter.Seq2[string, error] {
	return r.pieces(ctx, '\n', maxLine, args)
}

func (r *Repo) pieces(ctx context.Context, end byte, limit int, args []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		cmd := r.reader(ctx, args...)
		var errs lines.Head
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			yield("", err)
			return
		}
		lines := bufio.NewScanner(out)
		lines.Buffer(make([]byte, 64<<10), limit)
		lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			if i := bytes.IndexByte(data, end); i >= 0 {
				return i + 1, data[:i], nil
			}
			if atEOF && len(data) > 0 && end == '\n' {
				return len(data), data, nil
			}
			if atEOF && len(data) > 0 {
				return 0, nil, errors.New("the output breaks off")
			}
			return 0, nil, nil
		})
		for lines.Scan() {
			if !yield(lines.Text(), nil) {
				cancel()
				cmd.Wait()
				return
			}
		}
		scanErr := lines.Err()
		if scanErr != nil {
			cancel() // it may have more to say, and nobody listens
		}
		if err := cmd.Wait(); err != nil && scanErr == nil {
			yield("", ChildError(ctx, args[0], err, errs.Bytes()))
		} else if scanErr != nil {
			yield("", fmt.Errorf("git %s: %w", args[0], scanErr))
		}
	}
}
