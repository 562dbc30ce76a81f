package mergediff

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const two = "<<<<<<< SEARCH\nb\n=======\nB1\nB2\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nd\ne\n=======\n>>>>>>> REPLACE\n"

func TestApply(t *testing.T) {
	for _, c := range []struct{ file, diff, want, err string }{
		{"a\nb\nc\nd\ne\n", two, "a\nB1\nB2\nc\n", ""},
		{"a\nb\nc\nd\ne", two, "a\nB1\nB2\nc", ""},
		{"a\nd\ne\nb\n", two, "", "hunk 2: its lines are not in the file"},
		{"b\nb\nd\ne\n", two, "", "hunk 1: its lines stand at more than one place"},
		{"a\r\nb\r\nd\r\ne\r\n", two, "a\r\nB1\r\nB2\r\n", ""},
		{"a\r\nb", "<<<<<<< SEARCH\nb\r\n=======\nB\r\n>>>>>>> REPLACE", "a\r\nB", ""},
		{"a\nb\r\nd\r\ne\r\n", two, "", "hunk 1: its lines are not in the file"}, // of both kinds
		{"", two, "", "hunk 1: its lines are not in the file"},
		{"b\nb\n", "<<<<<<< SEARCH\nb\nb\n=======\nb\nb\n>>>>>>> REPLACE", "", ErrNoChange.Error()},
		{"x\n", "<<<<<<< SEARCH\nx\n=======\n>>>>>>> REPLACE", "", ""},
		{"ab\n", "<<<<<<< SEARCH\nb\n=======\nc\n>>>>>>> REPLACE", "", "its lines are not in the file"},
	} {
		hunks, err := Parse(c.diff)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Apply([]byte(c.file), hunks)
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %q, %v, want %q, %q", c.file, got, err, c.want, c.err)
		}
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "line 1: there is no hunk",
		"--- a\n+++ b\n":                      `line 1: "--- a" stands where`,
		"<<<<<<< SEARCH\nx\n":                 "line 2: the last hunk is not ended",
		"<<<<<<< SEARCH\nx\n=======\n":        "line 3: the last hunk is not ended",
		"<<<<<<< SEARCH\n=======\n":           "line 2: nothing to search for",
		"<<<<<<< SEARCH\nx\n>>>>>>> REPLACE":  `line 3: ">>>>>>> REPLACE" before`,
		"\n<<<<<<< SEARCH\nx\n<<<<<<< SEARCH": `line 4: "<<<<<<< SEARCH" within a hunk`,
	} {
		if _, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(two, "a\nb\nc\nd\ne\n")
	f.Add("<<<<<<< SEARCH\n\n=======\n\n\n>>>>>>> REPLACE", "\n")
	f.Fuzz(func(t *testing.T, text, file string) {
		hunks, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Line > 1+strings.Count(text, "\n") {
				t.Fatal(err)
			}
			return
		}
		again, err := Parse(format(hunks))
		if err != nil || len(again) != len(hunks) {
			t.Fatalf("%v: %q", err, format(hunks))
		}
		for i := range hunks {
			if !reflect.DeepEqual(hunks[i].Search, again[i].Search) || len(hunks[i].Replace)+len(again[i].Replace) > 0 && !reflect.DeepEqual(hunks[i].Replace, again[i].Replace) {
				t.Fatalf("%q came back as %q", hunks, again)
			}
		}
		Apply([]byte(file), hunks)
	})
}

// format writes hunks as Parse reads them.
func format(hunks []Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		for _, line := range slices.Concat([]string{searchMark}, h.Search, []string{divideMark}, h.Replace, []string{replaceMark}) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
