package checks

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

var textCheck = Check{
	Name: "text",
	Doc: "Ward's documents hold no control, reordering or invisible characters, beyond what writing needs: people and models act on " +
		"what they read there; nor do notes, nor the agent's changes of what other coding agents are told. Other files are warned " +
		"of text that stays reordered at a line's end (CVE-2021-42574).",
	Rules: []string{"text/hidden", "text/bidi"},
	Blob: func(pass *Pass, c *walk.Commit, change walk.Change, data []byte) {
		if change.New.Mode == git.ModeSymlink || isBinary(data) {
			return
		}
		if isDocument(c, change.Path) || pass.Push.Principal.Fenced() && filename.Instructions().Covers(change.Path) {
			hiddenText(pass, c.ID, c.Ref, change, data)
			return
		}
		if line, col, count := unclosedBidi(data); count > 0 {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID, Path: change.Path, Line: line, Col: col}, Ref: c.Ref, Rule: "text/bidi", Severity: diag.Warning,
				Message: fmt.Sprintf("a control reorders what is read behind it, up to the line's end and over it (%s)", diag.Count(count, "line")),
				Hint:    "look at the line with `git show | cat -v`; write the character as an escape where it is meant"})
		}
	},
	Tip: func(pass *Pass, t *walk.Tip) error {
		if !strings.HasPrefix(t.Ref, "refs/notes/") {
			return nil
		}
		for _, c := range t.Changes { // git log prints them
			if c.Deleted() {
				continue
			}
			data, err := pass.Repo.Regular(c.New, pass.Push.Config.Limits.BlobSize)
			if err != nil {
				return err
			}
			hiddenText(pass, t.New, t.Ref, c, data)
		}
		return nil
	},
}

// isBinary is git's own test for binary content.
func isBinary(data []byte) bool {
	const looked = 8000
	return bytes.IndexByte(data[:min(len(data), looked)], 0) >= 0
}

// maxHidden is how many lines of one document are named.
const maxHidden = 20

// hiddenText reports a document's lines with hidden characters that the previous version did
// not have.
func hiddenText(pass *Pass, commit, ref string, change walk.Change, data []byte) {
	if _, found := diag.FindHidden(string(data), true); !found {
		return
	}
	known := map[string]bool{}
	for line := range bytes.Lines(pass.Repo.Before(change)) {
		known[string(line)] = true
	}
	number, named := 0, 0
	for line := range bytes.Lines(data) {
		number++
		h, found := diag.FindHidden(string(line), true)
		if !found || known[string(line)] {
			continue
		}
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: commit, Path: change.Path, Line: number, Col: h.At + 1}, Ref: ref, Rule: "text/hidden",
			Message: "the document holds " + h.What, Hint: "delete it; nobody sees it, so retype the line if you cannot find it"})
		if named++; named == maxHidden {
			return
		}
	}
}

// unclosedBidi finds the first line that ends inside an override, embedding or isolate, and
// counts such lines.
func unclosedBidi(data []byte) (line, col, count int) {
	// U+202A to U+202E and U+2066 to U+2069 all begin with these two.
	if !bytes.Contains(data, []byte("\u202a")[:2]) && !bytes.Contains(data, []byte("\u2066")[:2]) {
		return 0, 0, 0
	}
	number := 0
	for text := range bytes.Lines(data) {
		number++
		if at := openBidi(text); at >= 0 {
			if count++; count == 1 {
				line, col = number, at+1
			}
		}
	}
	return line, col, count
}

// maxNested is how deep spans go (Unicode TR 9, max_depth); no text needs more.
const maxNested = 125

// openBidi is where the outermost span begins that a line leaves open or nests too deeply, -1
// for none (Unicode TR 9, rules X1 to X8).
func openBidi(line []byte) int {
	type span struct {
		at      int
		isolate bool
	}
	var open []span
	for i := 0; i < len(line); {
		if line[i] < utf8.RuneSelf {
			i++
			continue
		}
		ch, n := utf8.DecodeRune(line[i:])
		switch {
		case strings.ContainsRune("\u202a\u202b\u202d\u202e", ch):
			open = append(open, span{i, false})
		case strings.ContainsRune("\u2066\u2067\u2068", ch):
			open = append(open, span{i, true})
		case ch == '\u202c': // ends an embedding, and none outside the present isolate
			if last := len(open) - 1; last >= 0 && !open[last].isolate {
				open = open[:last]
			}
		case ch == '\u2069': // ends an isolate and all embeddings in it
			for last := len(open) - 1; last >= 0; last-- {
				if open[last].isolate {
					open = open[:last]
					break
				}
			}
		}
		if len(open) > maxNested {
			break
		}
		i += n
	}
	if len(open) == 0 {
		return -1
	}
	return open[0].at
}
