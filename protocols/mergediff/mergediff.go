// Package mergediff reads and applies merge diffs, the form in which a plan's
// replace_with_git_merge_diff and a lesson's PROPOSE_CODE_CHANGE say what is to
// change in a file:
//
//	<<<<<<< SEARCH
//	the lines as they stand
//	=======
//	the lines that take their place
//	>>>>>>> REPLACE
//
// one or more times, in the order of the file, with blank lines between. A hunk
// applies where its lines stand exactly once below the hunk before it; one that
// stands nowhere, or at two places, changes nothing at all.
package mergediff

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// The marker lines of a hunk.
const (
	searchMark  = "<<<<<<< SEARCH"
	divideMark  = "======="
	replaceMark = ">>>>>>> REPLACE"
)

// Hunk is one replacement, in lines without their line ends.
type Hunk struct {
	Search  []string // at least one
	Replace []string
}

// SyntaxError is a syntax error in a merge diff, with its line.
type SyntaxError struct {
	Line    int // from 1
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Parse reads a merge diff of one hunk or more. The error is a SyntaxError.
func Parse(text string) ([]Hunk, error) {
	var hunks []Hunk
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	const outside, searching, replacing = 0, 1, 2
	state, start := outside, 0
	for i, line := range lines {
		at := func(format string, args ...any) error { return &SyntaxError{i + 1, fmt.Sprintf(format, args...)} }
		switch {
		case state == outside && line == searchMark:
			hunks, state, start = append(hunks, Hunk{}), searching, i+1
		case state == outside && strings.TrimSpace(line) != "":
			return nil, at("%q stands where %q belongs", clip(line), searchMark)
		case state == outside:
		case line == searchMark:
			return nil, at("%q within a hunk", searchMark)
		case state == searching && line == divideMark:
			h := &hunks[len(hunks)-1]
			if h.Search = slices.Clone(lines[start:i]); len(h.Search) == 0 {
				return nil, at("nothing to search for")
			}
			state, start = replacing, i+1
		case state == searching && line == replaceMark:
			return nil, at("%q before %q", replaceMark, divideMark)
		case state == replacing && line == replaceMark:
			hunks[len(hunks)-1].Replace = slices.Clone(lines[start:i])
			state = outside
		}
	}
	switch {
	case state != outside:
		return nil, &SyntaxError{len(lines), "the last hunk is not ended by " + replaceMark}
	case len(hunks) == 0:
		return nil, &SyntaxError{1, "there is no hunk: begin one with " + searchMark}
	}
	return hunks, nil
}

// ErrNoChange means that no hunk changes anything.
var ErrNoChange = errors.New("the diff changes nothing")

// Apply returns the file with all hunks applied. Whether its last line has a
// line end stays as it is, and so do the line ends of a file that has CR LF
// throughout: a diff is written with LF. The error names the first hunk that does
// not apply.
func Apply(file []byte, hunks []Hunk) ([]byte, error) {
	if n := bytes.Count(file, []byte("\n")); n == 0 || bytes.Count(file, []byte("\r\n")) < n {
		return apply(file, hunks)
	}
	plain := make([]Hunk, len(hunks))
	for i, h := range hunks {
		plain[i] = Hunk{lf(h.Search), lf(h.Replace)}
	}
	out, err := apply(bytes.ReplaceAll(file, []byte("\r\n"), []byte("\n")), plain)
	if err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n")), nil
}

// lf is lines without the CR that a diff with CR LF leaves at their ends.
func lf(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimSuffix(line, "\r")
	}
	return out
}

func apply(file []byte, hunks []Hunk) ([]byte, error) {
	text := string(file)
	whole := strings.HasSuffix(text, "\n") || text == ""
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var out []string
	for i, h := range hunks {
		at, err := locate(lines, h.Search)
		if err != nil {
			return nil, fmt.Errorf("hunk %d: %w", i+1, err)
		}
		out = append(append(out, lines[:at]...), h.Replace...)
		lines = lines[at+len(h.Search):]
	}
	out = append(out, lines...)
	result := strings.Join(out, "\n")
	if whole && len(out) > 0 {
		result += "\n"
	}
	if bytes.Equal(file, []byte(result)) {
		return nil, ErrNoChange
	}
	return []byte(result), nil
}

// locate finds the one place of search in lines.
func locate(lines, search []string) (int, error) {
	found := -1
	for i := range len(lines) - len(search) + 1 {
		if lines[i] != search[0] || !slices.Equal(lines[i:i+len(search)], search) {
			continue
		}
		if found >= 0 {
			return 0, errors.New("its lines stand at more than one place: give more of the lines around them")
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("its lines are not in the file: %q", clip(search[0]))
	}
	return found, nil
}

func clip(s string) string { return diag.Cut(s, 60) }
