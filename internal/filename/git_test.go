package filename

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"git-ward/internal/git"
)

// TestAgainstGit: every name that git's own fsck takes for .git, or for a link in
// place of one of its settings, is one for Is, too.
func TestAgainstGit(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "--quiet", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	repo := git.Open(dir)
	blob, err := repo.WriteObject("blob", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	targets := []string{".git", ".gitmodules", ".gitattributes", ".gitignore", ".mailmap"}
	shorts := []string{"git~1", "GITMOD~1", "gitmod~4", "GI7EBA~1", "GI7EB~12", "gi7e~123", "gitatt~2", "GI7D29~1", "gitign~3", "GI250A~1", "mailma~1", "MABA30~1"}
	pieces := []string{"\u200c", "\u200d", "\u200e", "\u202e", "\u206a", "\ufeff", " ", ".", ":", "::$INDEX_ALLOCATION", ":x", "~1", "~", "x", "\u017f", "\u0131", "\u00ad"}
	names := map[string]string{} // by tree
	for range 4000 {
		name := targets[random.IntN(len(targets))]
		if random.IntN(3) == 0 {
			name = shorts[random.IntN(len(shorts))]
		}
		for range random.IntN(4) {
			i := random.IntN(len(name) + 1)
			switch piece := pieces[random.IntN(len(pieces))]; random.IntN(4) {
			case 0: // anywhere, in the middle of a character, too
				name = name[:i] + piece + name[i:]
			case 1:
				name += piece
			case 2:
				name = name[:i] + strings.ToUpper(name[i:])
			case 3:
				name = name[:i] + string("0123456789~abcdef"[random.IntN(17)]) + name[min(i+1, len(name)):]
			}
		}
		if name == "." || name == ".." || !utf8.ValidString(name) { // git ends such a name at the bad byte; no path holds one (path/name)
			continue
		}
		data, err := git.FormatTree([]git.Entry{{Mode: git.ModeSymlink, Name: name, ID: blob}})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := repo.WriteObject("tree", data)
		if err != nil {
			t.Fatal(err)
		}
		names[tree] = name
	}
	fsck := exec.Command("git", "-C", dir, "fsck", "--strict", "--no-dangling")
	var out bytes.Buffer
	fsck.Stdout, fsck.Stderr = &out, &out
	fsck.Run() // it finds what it is given
	count := map[string]int{}
	for line := range strings.Lines(out.String()) {
		_, rest, ok := strings.Cut(line, " in tree ")
		id, message, _ := strings.Cut(rest, ": ")
		name, known := names[id]
		if !ok || !known {
			continue
		}
		rule, _, _ := strings.Cut(message, ":")
		target := map[string]string{"hasDotgit": ".git", "gitmodulesSymlink": ".gitmodules", "gitattributesSymlink": ".gitattributes", "gitignoreSymlink": ".gitignore", "mailmapSymlink": ".mailmap"}[rule]
		if target == "" {
			continue
		}
		if count[target]++; !Is(name, target) {
			t.Errorf("git takes %+q for %s", name, target)
		}
	}
	for _, target := range targets {
		if count[target] < 30 {
			t.Errorf("git took %d names for %s: the test says little", count[target], target)
		}
	}
}
