package audit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// TestQuoteRef: names that are not UTF-8 have a text of their own, and it leads back.
func TestQuoteRef(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"refs/heads/main", "refs/heads/\xff", "refs/heads/\xfe", "refs/heads/ü", "refs/heads/\xc3", `refs/heads/\xff`, "\xed\xa0\x80", "\x00\x01"} {
		text := QuoteRef(name)
		if UnquoteRef(text) != name {
			t.Errorf("%q: %q leads back to %q", name, text, UnquoteRef(text))
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%q and %q are both %q", name, other, text)
		}
		seen[text] = name
		r := &Record{Time: time.Unix(0, 0).UTC(), Refs: []Ref{{Update: push.Update{Ref: text, Old: git.Zero, New: git.Zero}}}}
		line, err := r.Marshal()
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
		r.Refs = nil
		if without, err := r.Marshal(); err != nil || len(line)-len(without) > SizeOf(name) {
			t.Errorf("%q takes %d bytes, more than SizeOf says, %d (%v)", name, len(line)-len(without), SizeOf(name), err)
		}
	}
}

// largest is a record with as much as a push can put into it.
func largest(verdict Verdict) *Record {
	r := &Record{Time: time.Now().UTC(), Verdict: verdict, Name: strings.Repeat("n", 5000), User: "0", Push: strings.Repeat("p", 80), Config: strings.Repeat("0", 64)}
	size := 0
	for i := 0; len(r.Refs) < MaxRefs; i++ {
		name := fmt.Sprintf("refs/heads/%d%s", i, strings.Repeat("\x01", 60))
		if size += SizeOf(name); size > MaxRefBytes {
			break
		}
		r.Refs = append(r.Refs, Ref{Update: push.Update{Ref: name, Old: git.Zero, New: fmt.Sprintf("%040x", i)}, Applied: verdict == Accepted})
	}
	for i := range 5000 {
		r.Rules = append(r.Rules, fmt.Sprint("rule/", i))
		r.Allowed = append(r.Allowed, fmt.Sprint("rule/", i, strings.Repeat("\xff", 3000)))
	}
	return r
}

// TestEveryRecordFits: whatever a push holds, its record is within what is written,
// each line of a note within what a note takes, and both say what they leave out.
func TestEveryRecordFits(t *testing.T) {
	for _, verdict := range []Verdict{Accepted, Refused, Lost} {
		r := largest(verdict)
		refs := len(r.Refs)
		r.cut()
		r.fit()
		line, err := r.Marshal()
		if err != nil || len(line) > maxRecord {
			t.Errorf("%s: %d bytes, %v", verdict, len(line), err)
		}
		if r.Omitted == nil || r.Omitted.Rules != 5000-maxListed || r.Omitted.Allowed != 5000-maxListed || len(r.Refs)+r.Omitted.Refs != refs {
			t.Errorf("%s: %d refs of %d, %+v", verdict, len(r.Refs), refs, r.Omitted)
		}
		if again, err := ParseRecord(line); err != nil || again.Omitted == nil || *again.Omitted != *r.Omitted {
			t.Errorf("%s: %v", verdict, err)
		}
		lines, err := r.NoteLines()
		if err != nil || len(lines) != len(r.Tips()) {
			t.Fatal(len(lines), err)
		}
		for object, text := range lines {
			if len(text) > 2*maxNoteLine || !strings.Contains(text, object) {
				t.Fatalf("a line of %d bytes for %s", len(text), object)
			}
		}
	}
}

// TestNewerRecord: one of a newer Ward is told from one that is damaged, which is passed
// over; by an older Ward's own hooks nothing enters behind it.
func TestNewerRecord(t *testing.T) {
	_, err := ParseRecord([]byte(`{"format":3,"signers":["a"],"refs":"another form"}`))
	if newer, ok := errors.AsType[*NewerRecord](err); !ok || newer.Format != 3 || isBad(err) {
		t.Errorf("%v", err)
	}
	if hint, ok := errors.AsType[*diag.Hinted](err); !ok || !strings.Contains(hint.Hint, "init --update") {
		t.Errorf("%v has no remedy", err)
	}
	if _, err := ParseRecord([]byte(`{"id":1,"signers":["a"]}`)); !isBad(err) {
		t.Errorf("%v", err)
	}
	line, err := (&Record{}).Marshal()
	if err != nil || strings.Contains(string(line), "format") {
		t.Errorf("%s %v", line, err)
	}
}

// TestRotate: a full note keeps its newest lines and says which it gave up; one that
// nobody can read begins anew.
func TestRotate(t *testing.T) {
	line := func(id int) string { return fmt.Sprintf(`{"id":%d,"pad":%q}`, id, strings.Repeat("x", 1000)) }
	n := &notes{ref: state.AuditNotes}
	var text []byte
	for id := 1; id <= 300; id++ {
		n.last = int64(id)
		text = n.rotate(text, []string{line(id)}, false)
		if len(text) > maxNote {
			t.Fatalf("%d bytes after record %d", len(text), id)
		}
		note := ParseNote(text)
		if first := recordID(note.Lines[0]); first != note.Through+1 || recordID(note.Lines[len(note.Lines)-1]) != int64(id) {
			t.Fatalf("record %d: lines from %d, given up to %d", id, first, note.Through)
		}
	}
	again := n.rotate(text, []string{line(300), line(1)}, false) // known already, and given up already
	if string(again) != string(text) {
		t.Error("lines that are there, or were, came again")
	}
	if note := ParseNote(n.rotate(nil, []string{line(300)}, true)); note.Through != 299 || len(note.Lines) != 1 {
		t.Errorf("%+v", note)
	}
}
