package knowledge

import (
	"os"
	"testing"
)

func TestParseMeta(t *testing.T) {
	shipped, err := os.ReadFile("../../hooks/template/" + MetaPath)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		string(shipped):                      0,
		`{"name":"x","limitations":[]}`:      0,
		`{"name":"","limitations":[]}`:       1,
		`{}`:                                 2,
		`{"name":"x","limitation":[]}`:       1,
		``:                                   1,
		`{"name":1,"limitations":[]}`:        1,
		"{\"name\":\"\xff\"}":                1,
		`{"name":"x","limitations":[]} {}`:   1,
		`{"name":"x","limitations":["a",1]}`: 1,
	} {
		if _, found := ParseMeta([]byte(text)); len(found) != want {
			t.Errorf("%s: %v", text, found)
		}
	}
}
