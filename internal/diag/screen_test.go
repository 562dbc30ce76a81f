package diag

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// hostile is what a terminal takes for more than text.
var hostile = "\x1b[2J\x1b]52;c;ZXZpbA==\x07 \u009b31m\xc2\x9b5n a\rb \b\x7f \u202egnp.exe\u2066 z\u200bw \U000e0041 \xff\xfe\xc2"

// shown fails unless all of a text is printable, line ends and tabs left aside.
func shown(t interface {
	Helper()
	Errorf(string, ...any)
}, text string) {
	t.Helper()
	for i, r := range text {
		if _, n := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && n == 1 || r != '\n' && r != '\t' && (unicode.IsControl(r) || !printable(text, i, r, utf8.RuneLen(r))) {
			t.Errorf("at byte %d: %q in %q", i, r, text[max(0, i-20):min(len(text), i+20)])
			return
		}
	}
}

func TestUntrustedPrintsOnlyCleaned(t *testing.T) {
	u := Untrusted(hostile + "\nsecond line")
	type holder struct {
		Text Untrusted
		List []Untrusted
	}
	for _, text := range []string{
		fmt.Sprint(u), fmt.Sprintf("%s|%v|%q|%x|%X|%d|%+v|%#v|%10s|%-300s|%.5s|%T", u, u, u, u, u, u, u, u, u, u, u, u),
		fmt.Sprintf("%v %+v %s", holder{u, []Untrusted{u}}, &holder{u, []Untrusted{u}}, []Untrusted{u}),
		fmt.Errorf("while: %v", u).Error(), u.String(),
	} {
		shown(t, strings.ReplaceAll(text, "\n", "\x00")) // one line, too
	}
	if shown(t, u.Lines()); strings.Count(u.Lines(), "\n") != 1 {
		t.Error(u.Lines())
	}
	if u.Raw() != hostile+"\nsecond line" || fmt.Sprintf("%.3s|%6s", Untrusted("abcdef"), Untrusted("abc")) != "abc|   abc" {
		t.Error("the text is another")
	}
	data, err := json.Marshal(Untrusted("\u009bx\x1b"))
	var back Untrusted
	if err != nil || json.Unmarshal(data, &back) != nil || back != "\u009bx\x1b" {
		t.Errorf("%s %v", data, err)
	}
}

// TestScreen: however a text is cut into writes, what comes out is printable, and a
// printable text comes out as it is.
func TestScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte(hostile)))).Draw(t, "text")
		good := rapid.StringMatching(`[ -~äöü語🙂\n\t]*`).Draw(t, "good")
		for _, in := range []string{string(text), good} {
			var b strings.Builder
			s := NewScreen(&b)
			for rest := []byte(in); len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
				if m, err := s.Write(rest[:n]); m != n || err != nil {
					t.Fatal(m, err)
				}
				rest = rest[n:]
			}
			s.Flush()
			shown(t, b.String())
			if in == good && b.String() != good {
				t.Errorf("%q became %q", good, b.String())
			}
		}
	})
	var b strings.Builder
	s := NewScreen(&b)
	fmt.Fprint(s, "50%\r100%\r\nd\xc3")
	fmt.Fprint(s, "\xa4ne\r")
	s.Flush()
	if b.String() != `50%\r100%`+"\n"+`däne\r` {
		t.Errorf("%q", b.String())
	}
	if s := NewScreen(broken{}); true {
		if _, err := s.Write([]byte("x")); err == nil {
			t.Error("a broken stream was not noticed")
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestJSONIsShownAndSame: JSON is printable, one line, and means what it meant.
func TestJSONIsShownAndSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(string(rapid.SliceOf(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte(hostile)))).Draw(t, "text")), "?") +
			rapid.String().Draw(t, "more")
		var b strings.Builder
		if err := WriteJSON(&b, map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		shown(t, b.String())
		var back map[string]string
		if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back[text] != text || strings.Count(b.String(), "\n") != 1 {
			t.Errorf("%q: %q %v", text, b.String(), err)
		}
		lines := &strings.Builder{}
		JSONLines{lines}.Write([]byte("{\"a\":\"" + strings.NewReplacer(`"`, "", `\`, "", "\n", "").Replace(text) + "\"}\n"))
		for _, r := range lines.String() {
			if r > 0x7e && r != utf8.RuneError && unicode.IsControl(r) {
				t.Errorf("%q", lines)
			}
		}
	})
}

// TestScreenRemembers: that a write was lost is known at the end, whoever looked at none.
func TestScreenRemembers(t *testing.T) {
	s := NewScreen(full{})
	fmt.Fprint(s, "lost")
	if err := s.Flush(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a lost write is %v at the end", err)
	}
}

// full is a disk with no space left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
