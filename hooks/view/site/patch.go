package site

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
)

// The limits of the difference on a page.
const (
	mostPatch     = 400 << 10 // bytes of all files
	mostFileLines = 1500      // of one file
	mostLine      = 2000      // bytes of one line
	openLines     = 2000      // of the files that are unfolded at first
)

// A file is one file's part of a difference.
type file struct {
	ID    string
	Path  string
	Open  bool
	Lines []patchLine
	Cut   string // says what is not shown; "" for all shown
}

// A patchLine is a line of git's output. It keeps its first character (+, - or a space), so that the
// colour adds no information. Class is add, del, hunk, head or "".
type patchLine struct{ Class, Text string }

// files splits git's output by file. git puts a character of its own before each line of content, so
// no content can look like the head of the next file. whole says that nothing was cut.
func files(patch diag.Untrusted) (list []file, whole bool) {
	text := patch.Raw()
	whole = len(text) <= mostPatch
	if !whole {
		text = cutAt(text, mostPatch)
	}
	shown := 0
	for i, part := range split(text) {
		f := newFile(part)
		f.ID = fmt.Sprintf("file-%d", i)
		f.Open = shown < openLines
		shown += len(f.Lines)
		whole = whole && f.Cut == ""
		list = append(list, f)
	}
	return list, whole
}

const fileHead = "diff --git "

// split cuts a difference before each head of a file.
func split(text string) (parts []string) {
	for text != "" {
		next := strings.Index(text, "\n"+fileHead)
		if next < 0 {
			return append(parts, text)
		}
		parts, text = append(parts, text[:next+1]), text[next+1:]
	}
	return parts
}

func newFile(part string) (f file) {
	inHead := true
	lines := strings.Split(strings.TrimSuffix(part, "\n"), "\n")
	f.Path = pathOf(lines[0])
	for i, l := range lines {
		if i == mostFileLines {
			f.Cut = fmt.Sprintf("%s more of this file.", diag.Count(len(lines)-i, "line"))
			break
		}
		if strings.HasPrefix(l, "@@") {
			inHead = false
		}
		f.Lines = append(f.Lines, patchLine{lineClass(l, inHead), cutLine(l)})
	}
	return f
}

func lineClass(l string, inHead bool) string {
	switch {
	case inHead:
		return "head"
	case strings.HasPrefix(l, "@@"):
		return "hunk"
	case strings.HasPrefix(l, "+"):
		return "add"
	case strings.HasPrefix(l, "-"):
		return "del"
	}
	return ""
}

// cutLine cleans a line for display and cuts it to mostLine bytes.
func cutLine(l string) string {
	n := len(l)
	if n > mostLine {
		l = cutAt(l, mostLine)
	}
	l = strings.ReplaceAll(diag.Clean(strings.ReplaceAll(l, "\t", "    ")), "\r", "")
	if n > mostLine {
		l += fmt.Sprintf(" ... (%s)", size(n))
	}
	return l
}

// pathOf returns the path in a head, as git quotes it: for "diff --git a/x b/x" the second one. For a
// rename it returns both.
func pathOf(head string) string {
	names := strings.TrimPrefix(head, fileHead)
	if half := len(names) / 2; len(names)%2 == 1 && names[half] == ' ' {
		a, b := names[:half], names[half+1:]
		if strings.TrimPrefix(strings.TrimPrefix(a, `"`), "a/") == strings.TrimPrefix(strings.TrimPrefix(b, `"`), "b/") {
			names = strings.TrimPrefix(b, "b/")
		}
	}
	return diag.Clean(cutAt(names, 1000))
}
