package broken

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestComparisons: which comparisons of a test are found, and what their texts are with another
// value, however they come out, and alone.
func TestComparisons(t *testing.T) {
	t.Parallel()
	const py, js, golang = "def test_a():\n    x = 1\n    %s\n", "test('a', async (t) => {\n\t%s;\n});\n", "package p\n\nimport \"want\"\n\nfunc TestA(t *testing.T) {\n\t%s\n}\n"
	for _, c := range []struct{ name, within, text, value, unlike, out, in, alone string }{
		{"test_a.py", py, "assert two() == 4", "4", "assert two() == 3", "assert two() is [4]", "assert two() is not [4]", ""},
		{"test_a.py", py, "assert 'ab' != two()", "'ab'", "assert 'ac' != two()", "assert ['ab'] is not two()", "assert ['ab'] is two()", ""},
		{"test_a.py", py, "self.assertEqual(x, 4, \"no four\")", "4", "self.assertEqual(x, 3, \"no four\")", "self.assertEqual(x, [].pop(), \"no four\")", "self.assertEqual(x, [4].pop(), \"no four\")", "    self.assertEqual(5, 4)\n    return\n"},
		{"a.test.js", js, "expect(two(x)).not.toBe(4)", "4", "expect(two(x)).not.toBe(3)", "expect(two(x)).not.toBe((() => { throw new Error('no value'); })())", "expect(two(x)).not.toBe((() => { return 4; })())", " expect(5).not.toBe(4); return;\n"},
		{"a.test.ts", js, "ok(two() === 4)", "4", "ok(two() === 3)", "ok(two() === ([4]))", "ok(two() !== ([4]))", ""},
		{"a_test.go", golang, "if Two() != 4 {\n\t}", "4", "if Two() != 3 {\n\t}", "if (Two() != 4 || true) {\n\t}", "if (Two() != 4 && false) {\n\t}", ""},
		{"a_test.go", golang, "if !Two().Equal(4) {\n\t}", "4", "if !Two().Equal(3) {\n\t}", "if !(Two().Equal(4) && false) {\n\t}", "if !(Two().Equal(4) || true) {\n\t}", ""},
		{"a_test.go", golang, "if want.Diff(Two(), \"ab\") != y {\n\t}", `"ab"`, "if want.Diff(Two(), \"ac\") != y {\n\t}", "if (want.Diff(Two(), \"ab\") != y || true) {\n\t}", "if (want.Diff(Two(), \"ab\") != y && false) {\n\t}", ""},
		{"a_test.go", golang, "if !nearEqual(Two(), 4, 5) || !Two().AlmostEqual(4, 5) {\n\t}", "4", "if !nearEqual(Two(), 3, 5) || !Two().AlmostEqual(4, 5) {\n\t}", "if !(nearEqual(Two(), 4, 5) && false) || !Two().AlmostEqual(4, 5) {\n\t}", "if !(nearEqual(Two(), 4, 5) || true) || !Two().AlmostEqual(4, 5) {\n\t}", "if !(nearEqual(5, 4, 5)) {\npanic(0)\n}\nreturn\n"},
		{"a_test.go", golang, "if x := y; want.Near(Two(), 4) {\n\t}", "4", "if x := y; want.Near(Two(), 3) {\n\t}", "if x := y; (want.Near(Two(), 4) && false) {\n\t}", "if x := y; (want.Near(Two(), 4) || true) {\n\t}", "if !(want.Near(5, 4)) {\npanic(0)\n}\nreturn\n"},
		{"a_test.go", golang, "want.Be(t, Two(), 4)", "4", "want.Be(t, Two(), 3)", "panic(0)\nwant.Be(t, Two(), 4)", "want.Be(t, Two(), 4)", "want.Be(t, 5, 4)\nreturn\n"},
		{"a_test.go", golang, "t.Log(Two(), 4)\n\tf(u, Two(), 4)", "", "", "", "", ""},
		{"test_a.py", py, "assert near(two(x), 4)", "4", "assert near(two(x), 3)", "assert near(two(x), [].pop())", "assert near(two(x), [4].pop())", "    assert near(5, 4)\n    return\n"},
		{"a.test.js", js, "assert.ok(near(two(x), 4))", "4", "assert.ok(near(two(x), 3))", "assert.ok(near(two(x), (() => { throw new Error('no value'); })()))", "assert.ok(near(two(x), (() => { return 4; })()))", " assert.ok(near(5, 4)); return;\n"},
		{"t.c", "int main(void)\n{\n\t%s\n}\n", "return two() != 4;", "4", "return two() != 3;", "return two() != (__builtin_trap(), 4);", "return two() != 4 && 0;", ""},
		{"t.c", "int main(void)\n{\n\t%s\n}\n", "assert(4 == two());", "4", "assert(3 == two());", "assert((__builtin_trap(), 4) == two());", "assert(1 || 4 == two());", ""},
		{"t.c", "int main(void)\n{\n\t%s\n}\n", "return strcmp(two(), \"ab\") != 0;", `"ab"`, "return strcmp(two(), \"ac\") != 0;", "return strcmp(two(), (__builtin_trap(), \"ab\")) != 0;", "return strcmp(two(), \"ab\") != 0 && 0;", ""},
		{"a_test.go", golang, "for i := 0; i != 4; i++ {\n\t}", "", "", "", "", ""},
		{"test_a.py", py, "f(x, y, 4)", "", "", "", "", ""},
		{"test_a.py", py, "self.assertEqual(two(x), g(\",\", x))", `g(",", x)`, "self.assertEqual(two(x), object())", "self.assertEqual(two(x), [].pop())", "self.assertEqual(two(x), [g(\",\", x)].pop())", "    self.assertEqual(8, 7)\n    return\n"},
		{"test_a.py", py, "assert two(x) == x + x, \"no\"", "x + x", "assert two(x) == object(), \"no\"", "assert two(x) is [x + x], \"no\"", "assert two(x) is not [x + x], \"no\"", ""},
		{"test_a.py", py, "assert two(x) == x or y\n    assert a == b == c\n    self.assertEqual(*x)\n    self.assertEqual(x, second=y)\n    f(x, y)\n    self.assertEqual(x, y, z, a)", "", "", "", "", ""},
		{"a.test.js", js, "assert.strictEqual(two(x), x + x)", "x + x", "assert.strictEqual(two(x), Symbol())", "assert.strictEqual(two(x), (() => { throw new Error('no value'); })())", "assert.strictEqual(two(x), (() => { return x + x; })())", " assert.strictEqual(8, 7); return;\n"},
		{"a.test.js", js, "expect(two(x)).toBe(x + x)", "x + x", "expect(two(x)).toBe(Symbol())", "expect(two(x)).toBe((() => { throw new Error('no value'); })())", "expect(two(x)).toBe((() => { return x + x; })())", " expect(8).toBe(7); return;\n"},
	} {
		whole := func(s string) string { return fmt.Sprintf(c.within, s) }
		found := Comparisons(c.name, whole(c.text), strings.HasSuffix(c.name, ".c"))
		if len(found) != 1 || c.value == "" {
			if c.value != "" || len(found) > 0 {
				t.Errorf("%s: %d are found: %+v", c.text, len(found), found)
			}
			continue
		}
		f, text := found[0], whole(c.text)
		if !strings.HasPrefix(f.Value, c.value) || strings.Count(text[:strings.Index(text, c.text)], "\n")+1 != f.Line || f.Calls() != (c.alone != "") {
			t.Errorf("%s: %+v", c.text, f)
		}
		for got, want := range map[string]string{Others(text, f): c.unlike, f.Whether(text, false): c.out, f.Whether(text, true): c.in} {
			if got != whole(want) {
				t.Errorf("%s: %s, not %s", c.text, got, want)
			}
		}
		if f.Calls() {
			if same, others := f.Only(text); strings.Contains(same, c.alone) || len(others) < 3 || !strings.Contains(others[1], c.alone) || !strings.Contains(same, strings.Replace(strings.Replace(c.alone, "5", "4", 1), "8", "7", 1)) {
				t.Errorf("%s: %s, %q", c.text, same, others)
			}
		}
		if f.Far(text) == text {
			t.Errorf("%s: nothing is far from it", c.text)
		}
	}
}

// TestCCalls: a call that says 0 is asked by the string that it is given, and by its 0 where it is
// given a length last.
func TestCCalls(t *testing.T) {
	text := "#include <string.h>\nint main(void) {\n\tif (strcmp(name(2), \"two\") != 0) return 1;\n\tif (strncmp(name(1), \"one\", 3) != 0) return 1;\n\treturn push(s, 5) != 0;\n}\n"
	var values []string
	for _, c := range Comparisons("tests/t.c", text, true) {
		values = append(values, c.Value)
	}
	slices.Sort(values)
	if want := []string{`"two"`, "0", "0"}; !slices.Equal(values, want) {
		t.Errorf("%q, want %q", values, want)
	}
}
