package comms

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/diag"
)

// seeds are documents of every kind, sound and not.
func seeds(t testing.TB) []string {
	list := []string{"", "# COMMS\n", "# COMMS\n## Directives\n## Reports\n", history, without(1, 4), readFile(t, "testdata/spec.md"),
		"\ufeff# COMMS\r\n## Directives\r\n### D-1: x\r\n## Reports", "# COMMS\n## Directives\n### D-1: \xff\x1b\u202e\n- [ ] a\n  b (`c`)\n## Reports\n### R-1"}
	_, cases, _ := strings.Cut(readFile(t, "testdata/findings.txt"), "\n==== ")
	for c := range strings.SplitSeq(cases, "\n==== ") {
		_, rest, _ := strings.Cut(c, "\n")
		src, _, _ := strings.Cut(rest, "\n---- want")
		list = append(list, src)
	}
	return list
}

func errorCount(ds []diag.Diagnostic) int {
	n := 0
	for _, d := range ds {
		if d.IsError() {
			n++
		}
	}
	return n
}

// checkPositions asks for findings that a person can act on, at places that are.
func checkPositions(t *testing.T, data []byte, ds []diag.Diagnostic) {
	t.Helper()
	if len(ds) > MaxFindings {
		t.Fatalf("%d findings", len(ds))
	}
	lines := strings.Split(string(data), "\n")
	for _, d := range ds {
		if d.Path != Path || !strings.HasPrefix(d.Rule, "comms/") || d.Message == "" || d.Hint == "" || d.Severity == "" {
			t.Fatalf("incomplete: %+v", d)
		}
		if d.Line < 0 || d.Line > len(lines) || d.Col < 0 || d.Line == 0 && d.Col > 0 || d.Line > 0 && d.Col > len(lines[d.Line-1])+1 {
			t.Fatalf("out of range: %+v", d)
		}
		if len(d.Message)+len(d.Hint) > 1000 {
			t.Fatalf("long: %+v", d)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, ds := Parse(data)
		checkPositions(t, data, ds)
		again, ds2 := Parse(bytes.Clone(data))
		if !reflect.DeepEqual(doc, again) || !reflect.DeepEqual(ds, ds2) {
			t.Fatal("not a function of its input")
		}
		for _, d := range doc.Directives {
			if !strings.Contains(string(data)+"\n", d.Raw) || !strings.HasPrefix(d.Raw, "###") {
				t.Fatalf("raw %q is not in the document", d.Raw)
			}
		}
		if !diag.HasErrors(ds) && !doc.layout.sound {
			t.Fatal("unsound without an error")
		}
		if !diag.HasErrors(ds) {
			checkRoundTrip(t, doc)
			checkBegins(t, doc)
		}
	})
}

// checkRoundTrip builds the document anew from its entries alone and asks for
// the same entries: the entries are all that there is.
func checkRoundTrip(t *testing.T, doc *Document) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# COMMS\n\n## Directives\n")
	for _, d := range doc.Directives {
		b.WriteString("\n" + d.Raw)
	}
	b.WriteString("\n## Reports\n")
	for _, r := range doc.Reports {
		b.WriteString("\n" + r.Raw)
	}
	b.WriteString("\n## Questions\n")
	for _, q := range doc.Questions {
		b.WriteString("\n" + q.Raw)
	}
	again, ds := Parse([]byte(b.String()))
	if b.Len() <= MaxBytes && (diag.HasErrors(ds) || !reflect.DeepEqual(timeless(doc), timeless(again))) {
		t.Fatalf("the entries are another document: %v\n%q", ds, b.String())
	}
}

// checkBegins asks that in a sound document every directive begins some day, if those that
// it waits for are closed one after the other.
func checkBegins(t *testing.T, doc *Document) {
	t.Helper()
	waiting, done := doc.waiting(), map[string]bool{}
	for range doc.Directives {
		for _, d := range doc.Directives {
			done[d.Name()] = !slices.ContainsFunc(waiting(d), func(name string) bool { return !done[name] })
		}
		if len(done) == 0 || !slices.Contains(slices.Collect(maps.Values(done)), false) {
			return
		}
	}
	if len(doc.Directives) > 0 {
		t.Fatalf("some wait for ever: %v", done)
	}
}

// timeless is the entries of a document without their lines.
func timeless(doc *Document) Document {
	c := Document{}
	for _, d := range doc.Directives {
		d.Line, d.Criteria = 0, append([]Criterion(nil), d.Criteria...)
		for i := range d.Criteria {
			d.Criteria[i].Line = 0
		}
		c.Directives = append(c.Directives, d)
	}
	for _, r := range doc.Reports {
		r.Line = 0
		c.Reports = append(c.Reports, r)
	}
	for _, q := range doc.Questions {
		q.Line = 0
		c.Questions = append(c.Questions, q)
	}
	return c
}

func FuzzAppend(f *testing.F) {
	texts := []string{"", "done", "# a\n## b\n### R-1\n\x1b[0m\xff", strings.Repeat("long ", 4000), "Directive: " + strings.Repeat("a", 64), "\n\n ## x\r## y"}
	for i, s := range seeds(f) {
		f.Add([]byte(s), texts[i%len(texts)], uint8(i), uint8(i), int64(1_700_000_000))
	}
	f.Fuzz(func(t *testing.T, data []byte, text string, status, kind uint8, unix int64) {
		doc, before := Parse(data)
		r := NewReport{Time: time.Unix(unix, 0), Directive: "-", Status: statuses[int(status)%len(statuses)], Text: text}
		if kind%2 == 1 && len(doc.Directives) > 0 {
			d := doc.Directives[0]
			r.Directive, r.DirectiveHash = d.Name(), d.Hash()
		}
		out, id, err := appendReport(data, r)
		if kind%4 > 1 {
			out, id, err = appendQuestion(data, NewQuestion{r.Time, r.Directive, text})
		}
		if err != nil {
			return
		}
		checkInserted(t, data, out)
		got, after := Parse(out)
		if errorCount(after) > errorCount(before) && !diag.HasErrors(before) {
			t.Fatalf("new errors: %v\n%q", after, out)
		}
		if kind%4 > 1 {
			if n := len(got.Questions) - 1; n != len(doc.Questions) || got.Questions[n].ID != id || len(got.Questions[n].Raw) > MaxReportBytes {
				t.Fatalf("not one more question: %q", out)
			}
		} else {
			n := len(got.Reports) - 1
			if n != len(doc.Reports) || got.Reports[n].ID != id || len(got.Reports[n].Raw) > MaxReportBytes {
				t.Fatalf("not one more report: %q", out)
			}
			if r.DirectiveHash != "" && got.Reports[n].DirectiveHash() != r.DirectiveHash {
				t.Fatalf("the hash is lost: %q", out)
			}
		}
		if ds := CheckAgentChange(data, out, nil); len(ds) != 0 {
			t.Fatalf("the agent may not append: %v", ds)
		}
		if ds := CheckUpdate(data, out, Set{}); len(ds) != 0 {
			t.Fatalf("nobody may append: %v", ds)
		}
	})
}

// checkInserted asks for out to be data with bytes put in at one place.
func checkInserted(t *testing.T, data, out []byte) {
	t.Helper()
	n := 0
	for n < len(data) && data[n] == out[n] {
		n++
	}
	if !bytes.HasSuffix(out, data[n:]) {
		t.Fatalf("more than an entry changed:\n%q\n%q", data, out)
	}
}

func FuzzFold(f *testing.F) {
	for i, s := range seeds(f) {
		f.Add([]byte(s), s, i)
		f.Add([]byte(s), strings.Repeat(s, 40), -i)
	}
	f.Fuzz(func(t *testing.T, data []byte, text string, n int) {
		doc, before := Parse(data)
		directive := "D-1"
		if len(doc.Directives) > 0 {
			directive = doc.Directives[(n%len(doc.Directives)+len(doc.Directives))%len(doc.Directives)].Name()
		}
		var change Change = NewReport{Time: noon, Directive: directive, Status: Info, Text: text}
		if n < 0 {
			change = NewQuestion{Time: noon, Directive: directive, Text: text}
		}
		a, err := Amend(data, change, Share(""))
		out, removed := a.Data, a.Removed
		if err != nil || diag.HasErrors(before) {
			return
		}
		got, after := Parse(out)
		if diag.HasErrors(after) {
			t.Fatalf("new errors: %v\n%q", after, out)
		}
		pruned, err := ParsePrune("subject\n\n" + PruneTrailers(removed))
		if err != nil {
			t.Fatal(err)
		}
		if ds := append(CheckAgentChange(data, out, pruned), CheckRoom(data, out, MaxAnswers)...); len(ds) != 0 {
			t.Fatalf("the agent may not push what is folded: %v", ds)
		}
		if ds := CheckShares(data, out, ""); len(ds) != 0 {
			t.Fatalf("the agent may not push what is folded: %v", ds)
		}
		if len(doc.Open()) < len(got.Open()) {
			t.Fatal("a directive is open again")
		}
	})
}

func FuzzCheckAgentChange(f *testing.F) {
	for i, s := range seeds(f) {
		f.Add([]byte(s), 20*i, byte('x'))
	}
	f.Fuzz(func(t *testing.T, data []byte, at int, c byte) {
		doc, _ := Parse(data)
		if at < 0 || at >= len(data) || data[at] == c {
			return
		}
		changed := bytes.Clone(data)
		changed[at] = c
		ds := CheckAgentChange(data, changed, nil)
		checkPositions(t, changed, ds)
		if above := doc.layout.parts[reports].start; doc.layout.sound && at < above && len(ds) == 0 {
			t.Fatalf("byte %d above ## Reports changed unseen: %q", at, changed)
		}
		for _, p := range []part{reports, questions} {
			for _, e := range doc.layout.parts[p].entries {
				// Blank lines behind an entry are nobody's.
				if e.start <= at && at < e.start+len(doc.layout.raw(e))-1 && len(ds) == 0 {
					t.Fatalf("byte %d of %s changed unseen: %q", at, name(letters[p], e.id), changed)
				}
			}
		}
	})
}

// FuzzAgentPair compares any two documents: what passes must hold every old
// entry, in order, before every new one.
func FuzzAgentPair(f *testing.F) {
	list := seeds(f)
	for i, s := range list {
		f.Add([]byte(s), []byte(list[(i+1)%len(list)]))
		f.Add([]byte(history), []byte(s))
	}
	f.Fuzz(func(t *testing.T, old, new []byte) {
		before, _ := Parse(old)
		after, ds := Parse(new)
		found := CheckAgentChange(old, new, nil)
		checkPositions(t, new, found)
		if len(found) > 0 || diag.HasErrors(ds) || bytes.Equal(old, new) {
			return
		}
		if !DirectivesEqual(old, new) || len(after.Reports) < len(before.Reports) || len(after.Questions) < len(before.Questions) {
			t.Fatal("something is gone")
		}
		for i, r := range before.Reports {
			if after.Reports[i].Raw != r.Raw {
				t.Fatalf("%s changed", r.Name())
			}
		}
		for i, q := range before.Questions {
			if after.Questions[i].Raw != q.Raw {
				t.Fatalf("%s changed", q.Name())
			}
		}
	})
}
