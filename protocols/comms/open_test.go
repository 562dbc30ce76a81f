package comms

import (
	"slices"
	"testing"
)

// TestSaid: of many directives a document says what it says of one, and of one that is gone
// only what was reported.
func TestSaid(t *testing.T) {
	const head = "# COMMS\n## Directives\n### D-1: a\n- after: D-2, D-3\n### D-2: b\n### D-3: c\n### D-4: d\n## Reports\n"
	doc, _ := Parse([]byte(head))
	hash := func(name string) string { return doc.Directive(name).Hash() }
	doc, found := Parse([]byte(head +
		"### R-1 2026-11-21T09:00:00Z D-2 DONE\nDirective: " + hash("D-2") + "\nDropped: no more\n" +
		"### R-2 2026-11-21T09:00:00Z D-3 DONE\nDirective: " + hash("D-1") + "\nDropped: another text\n" +
		"### R-3 2026-11-21T09:00:00Z D-4 EXIT_NEED_INFO\nDirective: " + hash("D-4") + "\n" +
		"### R-4 2026-11-21T09:00:00Z D-4 INFO\nx\n" +
		"### R-5 2026-11-21T09:00:00Z D-9 DONE\nDirective: none\nDropped: it is gone\n"))
	all := doc.Said()
	for _, d := range doc.Directives {
		said := all[d.Name()]
		if said.Hash != d.Hash() || said.State != doc.State(d) || said.Dropped != doc.Dropped(d) || !slices.Equal(said.Waits, doc.Waits(d)) {
			t.Errorf("%s: %+v", d.Name(), said)
		}
	}
	if !all["D-2"].Dropped || all["D-3"].Dropped || !slices.Equal(all["D-1"].Waits, []string{"D-3"}) || all["D-4"].State != Suspended || all["D-4"].Newest.ID != 4 {
		t.Errorf("%+v %v", all, found)
	}
	if gone := all["D-9"]; gone.Dropped || gone.Hash != "" || gone.Newest == nil {
		t.Errorf("%+v", gone)
	}
}
