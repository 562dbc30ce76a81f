package broken

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

// TestSaid: what tests say is found in whatever their runner prints around it.
func TestSaid(t *testing.T) {
	ends, ran := Said("W", "x_test.go:3: W:1:end\n{\"Output\":\"W:22:fail\\n\"}\nW: W:x:end W::end W:3:en\nW:4:end: Success W:1:fail")
	if !maps.Equal(ends, map[int]bool{1: true, 4: true}) || !maps.Equal(ran, map[int]bool{1: true, 4: true, 22: true}) {
		t.Error(ends, ran)
	}
	if got := Failed("W", "W:1:end W:22:fail W:x:fail W:1:fail"); !maps.Equal(got, map[int]bool{1: true, 22: true}) {
		t.Error(got)
	}
}

// TestFound: what a test calls something does not say that a function was ended; its line does.
func TestFound(t *testing.T) {
	const label = "the function in line 3, by x"
	got := Replaced("W", "W:replaced:1:"+label+"\tx.py\nW:replaced:1:"+label+"\tx.py\nW:ended:2:"+label+"\nW:ended:x:y\n")
	want := map[Found]map[int][]string{{label, false}: {1: {"x.py", "x.py"}}, {label, true}: {2: {""}}}
	if !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
}

// TestRows: a row's name ends with its line, and one that was cut is none.
func TestRows(t *testing.T) {
	got := Rows("W", "W:row:1:TestA/b:c\r\nx W:row:2:t.py::test[1-W]\nW:row:x:y\nW:1:end\nW:row:3:TestA/cu")
	if !maps.Equal(got, map[string]int{"1:TestA/b:c": 1, "2:t.py::test[1-W]": 2}) {
		t.Error(got)
	}
	for name, text := range map[string]string{
		"a.py": "def test_a():\n    assert all(n for n in [1])\n",
		"a.js": "test('a', () => {\n\tfor (const n of [1]) assert(n);\n\t[1].forEach(assert);\n});\n",
	} {
		changed, ok := AtEnd(name, text, Change{"W", func(string) (int, How) { return 1, Tell }})
		if shown := Rows("W", changed); !ok || !strings.Contains(changed, "wardRounds") || len(shown) > 0 {
			t.Errorf("%s: a runner that shows a line says that a loop ran: %v", name, shown)
		}
	}
}
