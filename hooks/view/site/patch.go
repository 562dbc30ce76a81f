package site

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
)

// What a page shows of a difference.
const (
	mostPatch     = 400 << 10 // bytes of all files
	mostFileLines = 1500      // of one file
	mostLine      = 2000      // bytes of one line
	openLines     = 2000      // of the files that stand open at first
)

// A file is one file's part of a difference.
type file struct {
	ID    string
	Path  string
	Open  bool
	Lines []patchLine
	Cut   string // what is not shown of it
}

// A patchLine is a line as git prints it: its first sign, +, - or a space, is kept, so
// that colour says nothing that the sign does not. Class is add, del, hunk, head or "".
type patchLine struct{ Class, Text string }

// files splits a difference as git prints it. Within a file's part each line begins with
// a sign of git's own, so that no content can look like the head of the next file.
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

// cutLine is a line made safe to look at, and not wider than anybody reads.
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

// pathOf is the path that a head names, as git quotes it: of "diff --git a/x b/x" the
// second half. A rename is shown with both.
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
