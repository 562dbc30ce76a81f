package comms

import (
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// message is a report on its way.
func message(t *testing.T, text string) Message {
	t.Helper()
	m, err := NewReport{Time: at, Directive: "D-3", Status: Done, Text: text, DirectiveHash: strings.Repeat("a", 64)}.Message()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMessageRoundTrip(t *testing.T) {
	question, err := NewQuestion{Time: at, Directive: "D-3", Text: "Which?\n"}.Message()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Message{question, message(t, ""), message(t, "Done.\n\n## Reports\n\x1b[31m\xff<&>\u2028\"\\"), message(t, strings.Repeat("\"long\"\n", 9000))} {
		data, err := m.Format()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseMessage(data); err != nil || again != m {
			t.Errorf("%v: %q is %+v", err, data, again)
		}
		doc := []byte("# COMMS\n## Directives\n### D-3: t\n## Reports\n### R-7 2026-11-21T09:00:00Z - INFO\n")
		if d, _ := Parse(doc); d.Has(m, "") {
			t.Errorf("%q is there before it came", data)
		}
		a, err := Amend(doc, m, Whole)
		if err != nil || m.Kind == KindReport && a.ID != 8 {
			t.Fatal(a.ID, err)
		}
		if d := parseClean(t, string(a.Data)); !d.Has(m, "") || d.Has(message(t, "another"), "") {
			t.Errorf("%q is not found again in %q", data, a.Data)
		}
	}
}

// TestMessageRefused: what a message may not be, each by one change of a sound one.
func TestMessageRefused(t *testing.T) {
	data, err := message(t, "Done.").Format()
	if err != nil {
		t.Fatal(err)
	}
	sound := string(data)
	for _, c := range [][2]string{
		{`"version":1`, `"version":2`},
		{`"kind":"report"`, `"kind":"question"`},
		{`"kind":"report"`, `"kind":"drop"`},
		{`"D-3"`, `"-"`},
		{`"D-3"`, `"D-03"`},
		{`"DONE"`, `"DOWN"`},
		{`"DONE"`, `"EXIT"`},
		{`"status":"DONE",`, ``},
		{`"aaaa`, `"AAAA`},
		{`"text":"Done."`, `"text":"Done.","more":1`},
		{`"text":"Done."`, `"text":"Done.","text":"Done."`},
		{`"text":"Done."`, `"text":"## Reports"`},
		{`"text":"Done."`, `"text":"\u001b[31m"`},
		{`"text":"Done."`, `"text":"\u202e"`},
		{`"text":"Done."`, `"text":"\n\nDone."`},
		{`"text":"Done."`, `"text":"\u0044one."`},
		{`"text":"Done."`, `"text":"Dropped: -\n"`},
		{`"text":"Done."`, `"text":"` + strings.Repeat("x", MaxReportBytes) + `"`},
		{`09:00:00Z`, `09:00:00.5Z`},
		{`09:00:00Z`, `09:00:00+01:00`},
		{`2026`, `0000`},
		{"\n", ""},
		{"\n", "\n\n"},
		{`{"v`, `{ "v`},
	} {
		bad := strings.Replace(sound, c[0], c[1], 1)
		if bad == sound {
			t.Fatalf("%q changes nothing", c)
		}
		if m, err := ParseMessage([]byte(bad)); err == nil {
			t.Errorf("%.200q is taken for %+v", bad, m)
		}
	}
	dropped := `{"version":1,"kind":"report","time":"2026-11-22T09:00:00Z","directive":"D-3","status":"DONE","text":"Directive: ` + strings.Repeat("a", 64) + `\nDropped: -"}` + "\n"
	if m, err := ParseMessage([]byte(dropped)); err == nil {
		t.Errorf("an agent drops: %+v", m)
	}
	if _, err := (NewReport{Time: at, Directive: "D-3", Status: Done, Dropped: "-"}).Message(); err == nil {
		t.Error("a drop is a message")
	}
}

func FuzzMessage(f *testing.F) {
	for _, text := range []string{"", "Done.", "# a\n## b\n### R-1\n\x1b[0m\xff", strings.Repeat("long ", 4000), "\n\n ## x\r## y", "\t\u00a0\n "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := NewReport{Time: at, Directive: "D-3", Status: Info, Text: text}.Message()
		if err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		data, err := m.Format()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseMessage(data); err != nil || again != m {
			t.Fatalf("%v: %q", err, data)
		}
		a, err := Amend([]byte(Empty), m, Whole)
		if doc, _ := Parse(a.Data); err != nil || !doc.Has(m, "") {
			t.Fatalf("%v: %q is lost", err, data)
		}
	})
}

// TestIncident: a report names its incident on a line of its own, and no other line does.
func TestIncident(t *testing.T) {
	data, _, err := NewReport{Time: time.Unix(1, 0), Directive: "-", Status: Guard, Text: WithIncident("It died.\n\n", "20261128-abc")}.append([]byte(Empty), space{most: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := Parse(data)
	guard := NewReport{Directive: "-", Status: Guard}
	if !doc.HasIncident(guard, "20261128-abc") || doc.HasIncident(guard, "20261128") || doc.HasIncident(guard, "It died.") {
		t.Errorf("%s", data)
	}
	for _, other := range []NewReport{{Directive: "D-1", Status: Guard}, {Directive: "-", Status: Info}} {
		if doc.HasIncident(other, "20261128-abc") {
			t.Errorf("what a report on - of the watcher says is told for %s %s", other.Directive, other.Status)
		}
	}
}

// TestWatchersWords: no agent speaks as the watcher on its record.
func TestWatchersWords(t *testing.T) {
	for _, status := range Statuses() {
		_, err := NewReport{Time: time.Unix(1, 0), Directive: "D-1", Status: status, Text: "It does not hold."}.Message()
		if watchers := status == Fallback || status == Rollback || status == Guard; (err != nil) != watchers {
			t.Errorf("%s: %v", status, err)
		}
	}
}
