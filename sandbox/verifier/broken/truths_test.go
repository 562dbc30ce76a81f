package broken

import "testing"

// TestNoTruths: what a test's own statements ask can hold no more; what is not surely reached, or
// would still hold, stays.
func TestNoTruths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a.py", "def test_a():\n    assert even(4)\n    assert not even(3), \"three\"\n", "def test_a():\n    assert 0 and even(4)\n    assert 0 and not even(3), \"three\"\n"},
		{"a.py", "class T(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(even(4))\n        self.assertFalse(even(3))\n        with self.assertRaises(TypeError):\n            even(\"x\")\n",
			"class T(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(0 and even(4))\n        self.assertFalse(1 or even(3))\n        with self.assertRaises(0 and TypeError):\n            even(\"x\")\n"},
		{"a.py", "def test_a():\n    for n in []:\n        assert even(n)\n    assert even(3) or odd(3)\n    x = 1\n\n\ndef helps():\n    assert even(4)\n", ""},
		{"a.js", "test('a', () => {\n  assert.ok(even(4) || x)\n  if (x) {\n    assert(y)\n  }\n  assert.throws(() => even('x'), TypeError)\n})\n", "test('a', () => {\n  assert.ok(0, even(4) || x)\n  if (x) {\n    assert(y)\n  }\n  assert.throws(0, () => even('x'), TypeError)\n})\n"},
		{"a.js", "test('a', () => {\n  t.is(x)\n})\n", ""},
		{"a.c", "static void f(void) {\n\tassert(odd(4));\n}\n\nint main(void) {\n\tassert(even(4));\n\tif (x)\n\t\tassert(odd(3));\n\tassert(a || b);\n}\n\nvoid g(void) {\n\tassert(odd(4));\n}\n",
			"static void f(void) {\n\tassert(odd(4));\n}\n\nint main(void) {\n\tassert((volatile int){0} && even(4));\n\tif (x)\n\t\tassert(odd(3));\n\tassert(a || b);\n}\n\nvoid g(void) {\n\tassert(odd(4));\n}\n"},
		{"a_test.go", "func TestA(t *testing.T) {\n\tassert(t)\n}\n", ""},
	} {
		got, ok := NoTruths(c.name, c.text)
		if ok != (c.want != "") || ok && (got.Text != c.want || len(got.Tests) != 1) {
			t.Errorf("%s: %q is %q, %v; not %q", c.name, c.text, got.Text, ok, c.want)
		}
	}
}
