package hooks_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
)

// link is the content of a symbolic link in files.
type link string

// files are paths and what stands there: a string, a link, a gitlink's mode, or nil
// for an empty directory. Names may be such as no git client would add.
type files map[string]any

// rawCommit makes a commit with the tree of the first parent and files besides,
// from objects, past all of git's own checks of names.
func rawCommit(p *gittest.Pair, add files, message string, parents ...string) string {
	p.T.Helper()
	all := files{}
	for line := range strings.SplitSeq(p.Git("ls-tree", "-r", "-z", parents[0]), "\x00") {
		if line == "" { // after the last one
			continue
		}
		meta, path, _ := strings.Cut(line, "\t")
		var mode git.Mode
		var kind, id string
		fmt.Sscanf(meta, "%o %s %s", &mode, &kind, &id)
		all[path] = git.Entry{Mode: mode, ID: id}
	}
	for path, content := range add {
		if content == (link)("-") {
			delete(all, path)
			continue
		}
		all[path] = content
	}
	who := "Pat <pat@example.org> 1700000000 +0000"
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", rawTree(p, all))
	for _, parent := range parents {
		fmt.Fprintf(&text, "parent %s\n", strings.TrimSpace(p.Git("rev-parse", parent)))
	}
	fmt.Fprintf(&text, "author %s\ncommitter %s\n\n%s\n", who, who, message)
	return p.Object("commit", text.String())
}

func rawTree(p *gittest.Pair, all files) string {
	p.T.Helper()
	repo := git.Open(filepath.Join(p.Work, ".git"))
	write := func(kind, content string) string {
		id, err := repo.WriteObject(kind, []byte(content))
		if err != nil {
			p.T.Fatal(err)
		}
		return id
	}
	below := map[string]files{}
	var entries []git.Entry
	for path, content := range all {
		name, rest, deep := strings.Cut(path, "/")
		if deep {
			if below[name] == nil {
				below[name] = files{}
			}
			below[name][rest] = content
			continue
		}
		switch content := content.(type) {
		case git.Entry:
			entries = append(entries, git.Entry{Mode: content.Mode, Name: name, ID: content.ID})
		case git.Mode:
			entries = append(entries, git.Entry{Mode: content, Name: name, ID: strings.Repeat("12", 20)})
		case string:
			entries = append(entries, git.Entry{Mode: git.ModeFile, Name: name, ID: write("blob", content)})
		case link:
			entries = append(entries, git.Entry{Mode: git.ModeSymlink, Name: name, ID: write("blob", string(content))})
		case nil:
			entries = append(entries, git.Entry{Mode: git.ModeDir, Name: name, ID: write("tree", "")})
		}
	}
	for name, inner := range below {
		entries = append(entries, git.Entry{Mode: git.ModeDir, Name: name, ID: rawTree(p, inner)})
	}
	key := func(e git.Entry) string {
		if e.IsDir() {
			return e.Name + "/"
		}
		return e.Name
	}
	slices.SortFunc(entries, func(a, b git.Entry) int { return strings.Compare(key(a), key(b)) })
	data, err := git.FormatTree(entries)
	if err != nil {
		p.T.Fatal(err)
	}
	return write("tree", string(data))
}

// unguarded is a Pair whose git checks no object itself: what is refused then, Ward
// refuses.
func unguarded(t *testing.T) *gittest.Pair {
	t.Helper()
	p := newPair(t)
	p.Run(p.Bare, "git", "config", "receive.fsckObjects", "false")
	return p
}

// pusher is AgentPush or Push of a Pair.
type pusher func(...string) (string, error)

// refuses pushes a commit and wants all of the texts, or the push to pass where
// there are none.
func refuses(t *testing.T, push pusher, refspec string, texts ...string) {
	t.Helper()
	out, err := push(refspec)
	out = strings.ReplaceAll(out, "remote: ", "")
	if len(texts) == 0 && err != nil {
		t.Errorf("%s is refused:\n%s", refspec, out)
	}
	if len(texts) > 0 && err == nil {
		t.Errorf("%s is admitted, want %q:\n%s", refspec, texts, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("want %q in:\n%s", text, out)
		}
	}
}
