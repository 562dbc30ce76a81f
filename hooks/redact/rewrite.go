package redact

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/git"
)

// rewriter rewrites commits without some blobs.
type rewriter struct {
	ctx   context.Context
	repo  *git.Repo
	batch *git.Batch

	stones  map[string]*stone // by the blob that goes
	trees   map[string]string // what each tree is now, itself where nothing in it goes
	commits map[string]string // what each commit is now: those that are made anew
}

// stone is a blob's replacement.
type stone struct {
	path   string // where the blob stood
	text   string
	id     string
	stored bool
}

// The most that is read of one commit and of one tree, in bytes; what is larger was
// never admitted.
const (
	maxCommit = 1 << 20
	maxTree   = 64 << 20
)

// history rewrites, oldest first, the commits that have one of the blobs, and everything on
// top. Without write it only finds them.
func (w *rewriter) history(write bool) error {
	brings, err := w.bringing()
	if err != nil || len(brings) == 0 {
		return err
	}
	for line, err := range w.repo.Lines(w.ctx, "rev-list", "--topo-order", "--reverse", "--parents", "--all", "--") {
		if err != nil {
			return err
		}
		commit, parents, _ := strings.Cut(line, " ")
		dirty := brings[commit]
		for p := range strings.FieldsSeq(parents) {
			dirty = dirty || w.commits[p] != ""
		}
		if !dirty {
			continue
		}
		now := git.Zero // for those who only look
		if write {
			if now, err = w.commit(commit); err != nil {
				return fmt.Errorf("commit %.12s: %w", commit, err)
			}
		}
		w.commits[commit] = now
	}
	return nil
}

// bringing are the commits whose files gain or lose one of the blobs against a parent,
// including the first on every line of history.
func (w *rewriter) bringing() (map[string]bool, error) {
	found := map[string]bool{}
	for id := range w.stones {
		for line, err := range w.repo.Lines(w.ctx, "log", "--all", "--format=%H", "-m", "--root", "--no-renames", "--no-ext-diff", "--no-textconv",
			"--no-show-signature", "--no-notes", "--no-mailmap", "--find-object="+id, "--") {
			if err != nil {
				return nil, err
			}
			if git.IsID(line) {
				found[line] = true
			}
		}
	}
	return found, nil
}

// commit rewrites one commit: its tree and its parents, without its signature, which would no
// longer match.
func (w *rewriter) commit(id string) (string, error) {
	_, data, err := w.batch.ReadNow(id, maxCommit)
	if err != nil {
		return "", err
	}
	header, message, ok := bytes.Cut(data, []byte("\n\n"))
	if !ok {
		return "", errors.New("it has no message")
	}
	var b strings.Builder
	dropping := false
	for line := range strings.SplitSeq(string(header), "\n") {
		key, value, _ := strings.Cut(line, " ")
		if dropping = dropping && key == "" || key == "gpgsig" || key == "gpgsig-sha256" || key == "mergetag"; dropping {
			continue
		}
		switch key {
		case "tree":
			if value, err = w.tree(value, ""); err != nil {
				return "", err
			}
		case "parent":
			if now := w.commits[value]; now != "" {
				value = now
			}
		default:
			b.WriteString(line + "\n")
			continue
		}
		b.WriteString(key + " " + value + "\n")
	}
	return w.repo.WriteObject("commit", []byte(b.String()+"\n"+string(message)))
}

// tree is a tree without the blobs; dir is where it stands, with a slash at its end.
func (w *rewriter) tree(id, dir string) (string, error) {
	if now, ok := w.trees[id]; ok {
		return now, nil
	}
	_, data, err := w.batch.ReadNow(id, maxTree)
	if err != nil {
		return "", err
	}
	entries, err := git.ParseTree(data)
	if err = git.Forgive(err); err != nil {
		return "", fmt.Errorf("tree %.12s: %w", id, err)
	}
	changed := false
	for i := range entries {
		e := &entries[i]
		now := e.ID
		switch {
		case e.IsDir():
			now, err = w.tree(e.ID, dir+e.Name+"/")
		case e.Mode != git.ModeGitlink && w.stones[e.ID] != nil:
			if now, err = w.stone(w.stones[e.ID], dir+e.Name); e.Mode == git.ModeSymlink {
				e.Mode = git.ModeFile
			}
		}
		if err != nil {
			return "", err
		}
		changed = changed || now != e.ID
		e.ID = now
	}
	now := id
	if changed {
		if data, err = git.FormatTree(entries); err == nil {
			now, err = w.repo.WriteObject("tree", data)
		}
	}
	w.trees[id] = now
	return now, err
}

// stone is the blob that stands in place of one that goes.
func (w *rewriter) stone(s *stone, path string) (string, error) {
	s.path = cmp.Or(s.path, path)
	if s.stored {
		return s.id, nil
	}
	s.stored = true
	_, err := w.repo.WriteObject("blob", []byte(s.text))
	return s.id, err
}
