package record

import (
	"testing"

	"git-ward/protocols/uow"
)

func TestRefs(t *testing.T) {
	id := uow.ID{Directive: "D-12", K: 3}
	if got := Ref(id); got != "refs/ward/record/D-12.3" {
		t.Error(got)
	}
	if got, err := ParseRef(Ref(id)); got != id || err != nil {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "refs/ward/uow/D-1.1", "refs/ward/record/", "refs/ward/record/D-1", "refs/ward/record/D-01.1", "refs/ward/record/D-1.1/x"} {
		if id, err := ParseRef(bad); err == nil {
			t.Errorf("%q is %v", bad, id)
		}
	}
}

func TestWork(t *testing.T) {
	for _, test := range []struct {
		parents []string
		want    string
	}{{nil, ""}, {[]string{"a"}, ""}, {[]string{"a", "b"}, "b"}, {[]string{"a", "b", "c"}, ""}} {
		if got := Work(test.parents); got != test.want {
			t.Errorf("%v: %q", test.parents, got)
		}
	}
}

func TestListed(t *testing.T) {
	for path, want := range map[string]bool{
		"LEARNINGS.md": true, "plans/a.txt": true, "plans/a/b.udc": true, "postmortems/2026-11-22-D-1.md": true, "research/x.md": true,
		"transcripts/1.jsonl": true, "knowledge_core/lessons.jsonl": true, "evidence/D-1/loop/iter_0/cnf_capsule.json": true,
		"": false, "plans": false, "plans/": false, "plans/../main.go": false, "/plans/a": false, "main.go": false, "learnings.md": false,
		"evidence/D-2/loop/iter_0/cnf_capsule.json": false, "evidence/D-1/other": false, "evidence/D-1/loop": false,
		"knowledge_core/symbols.json": false, "LEARNINGS.md/x": false, "COMMS.md": false,
	} {
		if Listed("D-1", path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}
