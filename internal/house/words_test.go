package house

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// unwanted are words of the glossary's last table that mean nothing else in a comment.
var unwanted = regexp.MustCompile(`(?i)\b(folders?|commitish|whitelist|blacklist|sulk)\b`)

// TestCommentsUseTheGlossarysWords: one word an idea, and git's and the file system's
// own word first.
func TestCommentsUseTheGlossarysWords(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath == module+"/internal/house" {
			continue // this test names them
		}
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			positions := token.NewFileSet()
			file, err := parser.ParseFile(positions, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range file.Comments {
				for _, c := range group.List {
					if word := unwanted.FindString(c.Text); word != "" {
						t.Errorf("%s: %q is not a word of docs/glossary.md", positions.Position(c.Pos()), word)
					}
				}
			}
		}
	}
}
