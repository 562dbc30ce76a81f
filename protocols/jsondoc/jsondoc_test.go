package jsondoc

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
)

type document struct {
	Name  Text   `json:"name"`
	Rules []rule `json:"rules"`
	Meta  *meta  `json:"meta"`
}

type rule struct {
	ID    string `json:"rule_id"`
	Count int    `json:"count"`
}

type meta struct {
	Tools []string `json:"tools"`
}

// A fault is one finding at its byte, which says what to do.
func TestDecode(t *testing.T) {
	for _, test := range []struct{ text, place, message, hint string }{
		{"{}", "", "", ""},
		{`{"name":"n","rules":[{"rule_id":"a","count":1}],"meta":{"tools":["t"]}}`, "", "", ""},
		{"{\n  \"name\": \"n\",\n}", "5:14", "not valid JSON", "JSON tool"},
		{"", "4:1", "not valid JSON", "JSON tool"},
		{`{} {}`, "4:4", "not valid JSON", "JSON tool"},
		{`{"name":"n","name":"m"}`, "4:13", "not valid JSON at /name", "JSON tool"},
		{"{\"name\":\"\xff\"}", "4:10", "not valid JSON", "JSON tool"},
		{`{"nome":"n"}`, "4:2", "unknown member /nome", `did you mean "name"?`},
		{`{"Name":"n"}`, "4:2", "unknown member /Name", `did you mean "name"?`},
		{"{\"rules\":[\n{\"xyzzy\":1}]}", "5:2", "unknown member /rules/0/xyzzy", "rule_id, count"},
		{`{"meta":{"xyzzy":1}}`, "4:10", "unknown member /meta/xyzzy", "tools"},
		{`{"rules":{}}`, "4:10", "a JSON { where an array belongs at /rules", "kind of value"},
		{`{"rules":[{"rule_id":7}]}`, "4:22", "a JSON number where a string belongs at /rules/0/rule_id", "kind of value"},
		{`[]`, "4:1", "a JSON [ where an object belongs", "kind of value"},
	} {
		var v document
		d, ok := Decode([]byte(test.text), &v, "test/schema", 4)
		if ok {
			if test.place != "" {
				t.Errorf("%q is taken", test.text)
			}
			continue
		}
		d.Path = "x"
		if place := strings.TrimPrefix(d.Pos.String(), "x:"); place != test.place || d.Rule != "test/schema" ||
			!strings.Contains(d.Message, test.message) || !strings.Contains(d.Hint, test.hint) {
			t.Errorf("%q: %s %q, hint %q; want %s", test.text, place, d.Message, d.Hint, test.place)
		}
	}
}

// A Text knows its first quote, wherever it stands, and prints as a string.
func TestText(t *testing.T) {
	const text = "{\n \"name\" :\t\"a\\nb\"}"
	var v document
	if d, ok := Decode([]byte(text), &v, "r", 1); !ok {
		t.Fatal(d)
	}
	if v.Name.Value != "a\nb" || text[v.Name.Offset] != '"' || v.Name.Offset != int64(strings.Index(text, `"a`)) {
		t.Errorf("%+v", v.Name)
	}
	line, col := Place([]byte(text), v.Name.Offset, 1)
	if (diag.Pos{Line: line, Col: col}) != (diag.Pos{Line: 2, Col: 11}) {
		t.Error(line, col)
	}
	if out, err := json.Marshal(v.Name); err != nil || string(out) != `"a\nb"` {
		t.Error(string(out), err)
	}
}

func TestPlaceStaysInside(t *testing.T) {
	for offset, want := range map[int64][2]int{-1: {1, 1}, 0: {1, 1}, 2: {2, 1}, 99: {2, 2}} {
		if line, col := Place([]byte("a\nb"), offset, 1); [2]int{line, col} != want {
			t.Errorf("%d: %d:%d", offset, line, col)
		}
	}
}
