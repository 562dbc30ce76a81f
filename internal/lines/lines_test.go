package lines

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/pattern"
)

// TestTaker: whole lines with the prefix are taken, however they come, and every other byte
// goes on in its order.
func TestTaker(t *testing.T) {
	const text = "hello\nkey one\nx key two\nkey \nkeyless\nkey " + "0123456789012345" + "\nlast\nkey no end"
	const want = "hello\n<one>x key two\n<>keyless\nkey 0123456789012345\nlast\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := NewTaker(&out, "key ", 16, func(rest []byte) []byte { return fmt.Appendf(nil, "<%s>", rest) })
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			piece := rest[:min(size, len(rest))]
			if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, out.String(), want)
		}
	}
}

// TestTakerIsBounded: a line without an end is not kept.
func TestTakerIsBounded(t *testing.T) {
	var out bytes.Buffer
	w := NewTaker(&out, "key ", 100, func([]byte) []byte { return nil })
	long := "key " + strings.Repeat("x", 1<<20)
	if _, err := w.Write([]byte(long)); err != nil || out.String() != long || cap(w.line) > 4<<20 {
		t.Errorf("%d bytes went on: %v", out.Len(), err)
	}
	w = NewTaker(broken{}, "key ", 100, func([]byte) []byte { return nil })
	if _, err := w.Write([]byte("other\n")); err == nil {
		t.Error("the stream's error is lost")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("it is gone") }

// marked marks the lines that begin with "key ".
func marked(line string) string {
	if strings.HasPrefix(line, "key ") {
		return "!" + line
	}
	return line
}

// TestEach: a mark is before each line that is to have one, however it comes, every other byte goes
// on in its order, and what somebody else writes stands between lines.
func TestEach(t *testing.T) {
	const text = "key one\nx key two\n\nke\nkkey\nkeykey \nkey \nkey\tno\nlast key \nkey no end"
	const want = "!key one\nx key two\n\nke\nkkey\nkeykey \n!key \nkey\tno\nlast key \n!key no end\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := NewEach(&out, marked)
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			piece := rest[:min(size, len(rest))]
			if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
			if got := out.String(); got != "" && !strings.HasSuffix(got, "\n") {
				t.Fatalf("a part of a line: %q", got)
			}
		}
		if err := w.Flush(); err != nil || out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q, %v", size, out.String(), want, err)
		}
	}
	var out bytes.Buffer
	w := NewEach(&out, marked)
	long := strings.Repeat("x", maxWaits-maxTaken) + "key " + strings.Repeat("y", maxTaken-4)
	_, err := w.Write([]byte(long)) // it is not cut where the rest would have a mark
	if _, more := w.Write([]byte("1\n")); errors.Join(err, more) != nil || strings.ReplaceAll(out.String(), "\n", "") != long+"1" || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
	if _, err := NewEach(broken{}, marked).Write([]byte("other\n")); err == nil {
		t.Error("the stream's error is lost")
	}
}

// TestCutAtNoSecret: a line without an end is cut, wherever a secret is in it, before or after that.
func TestCutAtNoSecret(t *testing.T) {
	secret := "s3cr3t-" + strings.Repeat("0123456789", 20)
	for _, at := range []int{0, maxWaits - maxTaken - len(secret), maxWaits - maxTaken - 1, maxWaits - maxTaken, maxWaits - len(secret), maxWaits - 10, maxWaits - 1, maxWaits} {
		var out bytes.Buffer
		w := NewEach(&out, func(line string) string { return strings.ReplaceAll(line, secret, "[taken]") })
		text := strings.Repeat("x", at) + secret + strings.Repeat("y", 2*maxWaits)
		for _, size := range []int{7, len(text)} {
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				fmt.Fprint(w, rest[:min(size, len(rest))])
			}
			w.Flush()
			if got := strings.ReplaceAll(out.String(), "\n", ""); strings.Contains(got, "s3c") || strings.Contains(got, "789") || !strings.Contains(got, "[taken]") {
				t.Errorf("a secret at %d, in pieces of %d, is left in part", at, size)
			}
			out.Reset()
		}
	}
}

// TestCutAtNoOpenSecret: what is taken out up to wherever it ends shows nothing of itself, wherever
// a line is cut; where it is too long for any cut the rest of the line is left out, and no other.
func TestCutAtNoOpenSecret(t *testing.T) {
	open := pattern.New(`token=\S+`)
	for _, at := range []int{0, 1, maxWaits/2 + 1, maxWaits - 3*maxTaken, maxWaits - maxTaken - 3, maxWaits - maxTaken, maxWaits - 10, maxWaits - 3, maxWaits} {
		for _, n := range []int{20, maxTaken, 2 * maxTaken, maxWaits, 3 * maxWaits} {
			text := strings.Repeat("x ", at)[:at] + "token=" + strings.Repeat("s", n) + strings.Repeat(" y", maxWaits) + "\nthe next\n"
			for _, size := range []int{1000, len(text)} {
				var out bytes.Buffer
				w := NewEach(&out, func(line string) string { return open.ReplaceAllString(line, "[taken]") })
				for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
					fmt.Fprint(w, rest[:min(size, len(rest))])
				}
				got, next := strings.CutSuffix(out.String(), "the next\n")
				whole := strings.ReplaceAll(got, "\n", "") == open.ReplaceAllString(strings.TrimSuffix(text, "\nthe next\n"), "[taken]")
				if !next || strings.Contains(got, "ss") || !whole && !(n >= maxWaits/2 && strings.Contains(got, leftOut+"\n")) {
					t.Errorf("a token of %d at %d, in pieces of %d: %.40q", n, at, size, got[strings.Index(got, "s")+1:])
				}
			}
		}
	}
}

// TestOpenOverLines: lines that the function would take out with an earlier one are left out, up to
// where that ends, the text does, or too much is gone; lines before and behind it stay.
func TestOpenOverLines(t *testing.T) {
	key := pattern.New(`(?s)BEGIN.*?(?:END|\z)|token`)
	long := strings.Repeat(strings.Repeat("s", 99)+"\n", maxOpen/99+2)
	for _, c := range []struct{ text, want string }{
		{"a token\nBEGIN\nss\n\nmark: ss\nss END of it\nb\n", "a [taken]\n[taken]\nb\n"},
		{"see BEGIN ss\nss\nEND BEGIN\nss\nEND\nb\n", "see [taken]\nb\n"},
		{"BEGIN ss END, and b\nss\n", "[taken], and b\nss\n"},
		{"BEGIN\nss", "[taken]\n"},
		{"BEGIN\n" + long + "b\n", "[taken]\n" + strings.Repeat("s", 99) + "\n" + strings.Repeat("s", 99) + "\nb\n"},
		{"BEGIN" + strings.Repeat("\n", 2*maxOpen/minOpen) + "b\n", "[taken]" + strings.Repeat("\n", maxOpen/minOpen) + "b\n"},
		{strings.Repeat("x", 2*maxWaits) + "BEGIN\nss\nEND\nb\n", strings.Repeat("x", 2*maxWaits) + "[taken]\nb\n"},
		{"BEGIN" + strings.Repeat("s", maxWaits-9) + "\nss\nEND\nb\n", "[taken]\nb\n"},
	} {
		for _, flush := range []string{"", "another\n"} {
			var out bytes.Buffer
			w := NewEach(&out, func(line string) string { return key.ReplaceAllString(line, "[taken]") })
			fmt.Fprint(w, c.text)
			w.Flush()
			fmt.Fprint(w, flush)
			if out.String() != c.want+flush {
				t.Errorf("%.60q: %.200q, want %.200q", c.text, out.String(), c.want+flush)
			}
		}
	}
}

// TestMarkOfTheMoment: each line has the mark of its moment, however it comes, and what waits for
// its end is bounded.
func TestMarkOfTheMoment(t *testing.T) {
	var out bytes.Buffer
	now := "[D-1] "
	m := NewEach(&out, func(line string) string { return now + line })
	fmt.Fprint(m, "one\ntw")
	now = "[-] "
	fmt.Fprint(m, "o\n[D-2] forged\nhalf")
	if want := "[D-1] one\n[-] two\n[-] [D-2] forged\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	fmt.Fprint(m, strings.Repeat("x", 3*maxWaits))
	if len(m.line) > maxWaits {
		t.Errorf("%d bytes wait for their end", len(m.line))
	}
}
