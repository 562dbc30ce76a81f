package loop

import "testing"

func TestFree(t *testing.T) {
	for path, want := range map[string]bool{
		"COMMS.md": true, "evidence/D-1/x": true, "postmortems/a.md": true, "knowledge_core/lessons.jsonl": true,
		"comms.md": false, "evidence": false, "evidences/x": false, "a/COMMS.md": false, "COMMS.md/x": false, "knowledge_core/other": false, "main.go": false,
	} {
		if Free(path, false) != want {
			t.Errorf("%s: %v", path, !want)
		}
		if Free(path, true) {
			t.Errorf("%s is free in a project of its own", path)
		}
	}
}
