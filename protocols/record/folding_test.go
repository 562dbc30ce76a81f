package record

import (
	"errors"
	"strings"
	"testing"
	"time"

	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// TestFolding: messages enter one after another, each once; what has no room keeps out what
// its own unit said after it alone.
func TestFolding(t *testing.T) {
	pending := func(unit, text string, number int) Pending {
		id, err := uow.ParseID(unit)
		if err != nil {
			t.Fatal(err)
		}
		m, err := comms.NewReport{Time: time.Date(2026, 11, 21, 9, number, 0, 0, time.UTC), Directive: id.Directive, Status: comms.Info, Text: text}.Message()
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.Format()
		if err != nil {
			t.Fatal(err)
		}
		p, err := ReadPending(id, number, data)
		if err != nil || p.Void {
			t.Fatal(err)
		}
		return p
	}
	begin := func(words string) *Folding {
		data := []byte("# COMMS\n\n" + words + "\n\n## Directives\n\n### D-1: a\n\n- [ ] it is (`true`)\n\n### D-2: b\n\n- [ ] it is (`true`)\n\n## Reports\n\n## Questions\n")
		doc, _ := comms.Parse(data)
		return NewFolding(data, doc)
	}
	take := func(f *Folding, p Pending, done, entered bool) {
		t.Helper()
		if d, e := f.Take(p); d != done || e != entered {
			t.Errorf("%s: %v %v %v", p.Name(), d, e, f.Waits)
		}
	}
	f := begin("Few.")
	one, void := pending("D-1.1", "hello", 1), pending("D-1.1", "nothing", 2)
	void.Void = true
	take(f, one, true, true)
	take(f, one, true, false) // a fold that was killed left it there
	take(f, void, true, false)
	take(f, pending("D-2.1", "hello", 1), true, true)
	if text := string(f.Data); strings.Count(text, "hello") != 2 || strings.Contains(text, "nothing") || len(f.Document.Reports) != 2 || len(f.Waits) > 0 {
		t.Errorf("%s\n%v", text, f.Waits)
	}

	f = begin(strings.Repeat("Many words. ", (comms.MaxBytes-600)/12))
	take(f, pending("D-1.1", strings.Repeat("more ", 400), 1), false, false)
	take(f, pending("D-1.1", "a", 2), false, false)
	if err := f.Waits[one.Unit]; len(f.Waits) != 1 || !errors.Is(err, comms.ErrFull) || !strings.Contains(err.Error(), "comms/0001.json of refs/ward/record/D-1.1 waits") {
		t.Error(f.Waits)
	}
	take(f, pending("D-2.1", "a", 1), true, true)

	for _, data := range []string{"", "{}", `{"directive":"D-2"}`} {
		if p, err := ReadPending(one.Unit, 3, []byte(data)); err == nil || !p.Void || p.Number != 3 {
			t.Errorf("%q: %+v", data, p)
		}
	}
	other, _ := pending("D-2.1", "a", 1).Message.Format()
	if p, err := ReadPending(one.Unit, 1, other); err == nil || !p.Void || !strings.Contains(err.Error(), "it is for D-2") {
		t.Errorf("%+v %v", p, err)
	}
}
