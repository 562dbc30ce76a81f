package broken

import "testing"

// TestOtherValues: what a text compares with is another value of the same length, and nothing
// else of it is changed.
func TestOtherValues(t *testing.T) {
	t.Parallel()
	named := func(one, six string) string {
		return "package a\n\nfunc TestA(t *testing.T) {\n\tfor _, c := range []struct {\n\t\tin, want int\n\t\tname string\n\t}{\n\t\t{" + one + "},\n\t\t{" + six + "},\n\t} {\n\t\tcheck(t, c.name, Double(c.in), c.want)\n\t}\n}\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"a.py", "assert double(2) == 4\n", "assert double(2) == 3\n"},
		{"a.py", "assert 'ab' == name(1)  # a name\n", "assert 'ac' == name(1)  # a name\n"},
		{"a.py", "self.assertEqual(double(2), 10, \"not ten\")\n", "self.assertEqual(double(2), 11, \"not ten\")\n"},
		{"a.py", "self.assertEqual(\n    double(2),\n    200,\n)\n", "self.assertEqual(\n    double(2),\n    100,\n)\n"},
		{"a.py", "@pytest.mark.parametrize(\"n,want\", [(2, 4),\n    (5, 9)])\n", "@pytest.mark.parametrize(\"n,want\", [(2, 3),\n    (5, 7)])\n"},
		{"a.py", "while n != 3:\n    n = next(n)\nassert n == 3\n", "while n != 3:\n    n = next(n)\nassert n == 2\n"},
		{"a.py", "assert a == 5 and b == 5\n", "assert a == 4 and b == 3\n"}, // never the same twice
		{"a.js", "expect(double(2)).not.toBe(4);\n", "expect(double(2)).not.toBe(3);\n"},
		{"a.js", "assert.equal(name(), 'a\\n');\n", "assert.equal(name(), 'b\\n');\n"},
		{"a.ts", "t.ok(isOdd(3), 'three is odd');\n", ""}, // a message is no value
		{"a.ts", "import { x } from './x.js';\nconst fs = require('fs');\nprocess.exit(0);\n", ""},
		{"a_test.go", "if got := Double(2); got != 4 {\n\tt.Fatalf(\"%d\", 4)\n}\n", "if got := Double(2); got != 3 {\n\tt.Fatalf(\"%d\", 4)\n}\n"},
		{"a_test.go", "\t{in: \"a\", want: 255},\n\t{\"b\", \"%d\"},\n", "\t{in: \"a\", want: 255},\n\t{\"b\", \"%d\"},\n"},
		{"a.js", "assert.strictEqual(even(4), true);\nexpect(even(3)).toBe(false);\nsort(xs, true);\n", "assert.strictEqual(even(4), \"tr\");\nexpect(even(3)).toBe(\"fal\");\nsort(xs, true);\n"},
		{"a.py", "self.assertIs(even(4), True, \"is four\")\n", "self.assertIs(even(4), \"Tr\", \"is four\")\n"},
		{"a.c", "check(even(4), true);\n", ""},
		{"a.rs", "assert_eq!(double(2), 4);\n", "assert_eq!(double(2), 3);\n"},
		{"a.c", "if (strcmp(name(), \"ab\") != 0)\n\treturn 1;\nassert(!strcmp(name(), \"ab\"));\nreturn two() != 0;\n", "if (strcmp(name(), \"ac\") != 0)\n\treturn 1;\nassert(!strcmp(name(), \"ad\"));\nreturn two() != 1;\n"},
		{"a.c", "if (strncmp(name(2), \"two\", 3) != 0)\n\treturn 1;\nassert(!strncmp(name(1), \"one\", 2));\nreturn memcmp(s, want, 3) != 0;\n", "if (strncmp(name(2), \"uwo\", 3) != 0)\n\treturn 1;\nassert(!strncmp(name(1), \"pne\", 2));\nreturn memcmp(s, want, 3) != 0;\n"},
		{"a.sh", "[ \"$(two)\" = 2 ] || exit 1\ntest \"$x\" = \"ab\"\ngrep -qx 4 out\n", "[ \"$(two)\" = 1 ] || exit 1\ntest \"$x\" = \"ad\"\ngrep -qx 3 out\n"},
		{"a.sh", ". ./calc.sh\ncd 'a/b'\nexit 0\n", ""},
		{"a.py", "assert text() == \"a == 5, b == 6\"\n", "assert text() == \"a == 5, b == 7\"\n"},
		{"a_test.go", "p := filepath.Join(t.TempDir(), \"f\")\nos.WriteFile(p, b, 0644)\nexec.Command(\"sh\", \"-c\").Start(\"x\", \"y\")\n", ""}, // a path and a mode
		{"a_test.go", "func TestA(t *testing.T) {\n\tassert.Equal(t, filepath.Join(d, \"f\"), \"x\")\n\tos.Chmod(p, 0644)\n}\n", "func TestA(t *testing.T) {\n\tassert.Equal(t, filepath.Join(d, \"f\"), \"y\")\n\tos.Chmod(p, 0644)\n}\n"},
		{"a.js", "t.is(double(2), 4);\nfs.chmodSync(p, 644);\nexpect(f(x)).to.eql('ab');\n", "t.is(double(2), 3);\nfs.chmodSync(p, 644);\nexpect(f(x)).to.eql('ad');\n"},
		{"a.rb", "assert_equal 4, two\n", ""},
		{"a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tfor _, c := range []struct{ in, want, wait int }{{in: 1, want: 2, wait: 5}} {\n\t\tif c.wait > 0 {\n\t\t\tif c.in > 0 {\n\t\t\t\tt.Fatal()\n\t\t\t}\n\t\t}\n\t\tif F(c.in) != c.want {\n\t\t\tt.Error()\n\t\t}\n\t}\n}\n",
			"package a\n\nfunc TestA(t *testing.T) {\n\tfor _, c := range []struct{ in, want, wait int }{{in: 1, want: 1, wait: 5}} {\n\t\tif c.wait > 0 {\n\t\t\tif c.in > 0 {\n\t\t\t\tt.Fatal()\n\t\t\t}\n\t\t}\n\t\tif F(c.in) != c.want {\n\t\t\tt.Error()\n\t\t}\n\t}\n}\n"}, // a column that goes in, or fails no test, stays
		{"a_test.go", named("1, 2, \"one\"", "3, 6, \"six\""), named("0, 1, \"ong\"", "2, 4, \"siy\"")}, // what a row is for is not known
	} {
		got, ok := OtherValues(c.name, c.text)
		if want := c.want; ok && got.Text != want || ok != (want != "" && want != c.text) {
			t.Errorf("%s: %q is %q, %v; not %q", c.name, c.text, got.Text, ok, want)
		}
	}
}

// TestSure: a value is surely compared by an operator, or as the last that an assertion is
// given; one that goes in is not.
func TestSure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"self.assertEqual(parse(\"1\"), 1)": true, "assert parse(1) == 2": true, "expect(parse(1)).toBe(2);": true, "await assert.equal(parse(1), 2);": true,
		"self.assertRaises(E, parse, \"x\")": false, "self.assertFalse(less(5, 1))": false,
	} {
		o, ok := OtherValues("test_a.py", "def test_a(self):\n    "+text+"\n\n\ndef test_b():\n    pass\n")
		if sure, changed := o.Tests["test_a"]; !ok || !changed || sure != want || len(o.Tests) != 1 {
			t.Errorf("%s: %+v", text, o)
		}
	}
}

// FuzzOtherValues: whatever a text is, another of the same length comes of it, or none.
func FuzzOtherValues(f *testing.F) {
	for _, text := range []string{"assert x == \"a == 5, b == 6\"\n", "(1, '2')\n", "while x != 3:\n", "f(a, \"b\") == 0", "[ \"$x\" = 2 ] || exit 1\n"} {
		f.Add("a.py", text)
		f.Add("a.sh", text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if changed, ok := OtherValues(name, text); ok && len(changed.Text) != len(text) {
			t.Errorf("%q is %q", text, changed.Text)
		}
	})
}

// TestAsks: a test asks for a file's values if it has a name that is given one there, or the file's.
func TestAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		test, name, values string
		want               bool
	}{
		{"if Max() != 5 {", "limit.go", "package calc\n\nconst Limit = 5\n", false},
		{"if Max() != Limit {", "max.go", "package calc\n\nconst (\n\tLimit = 5\n)\n", true},
		{"check(areas.WANT[2])", "calc/areas.py", "[1, 2]\n", true},
		{"extern int want[];", "w.c", "static const int want[] = { 1 };\n", true},
		{"two() == 2", "limits.py", "MOST: int = 9\n", false},
	} {
		if Asks(c.test, c.name, c.values) != c.want {
			t.Errorf("%q, %q: %v", c.test, c.values, !c.want)
		}
	}
}

// TestRestored: values that a test names have what they were before, and nothing else has.
func TestRestored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, now, before, want string }{
		{"a.py", "WANT = {\n    2: 1,  # }\n}\nLIMIT = 9\n\n\ndef f():\n    return 7\n", "WANT = {\n    2: 2,\n}\nLIMIT = 3\n", "WANT = {\n    2: 2,\n}\nLIMIT = 9\n\n\ndef f():\n    return 7\n"},
		{"a.go", "package a\n\nvar WANT = map[int]int{2: 1}\n\nfunc F() int {\n\tx := 1\n\treturn x\n}\n", "package a\n\nvar WANT = map[int]int{2: 2}\n", "package a\n\nvar WANT = map[int]int{2: 2}\n\nfunc F() int {\n\tx := 1\n\treturn x\n}\n"},
		{"a.js", "exports.WANT = [1];\nexports.f = () => 1;\n", "exports.WANT = [2];\nexports.f = () => 2;\n", "exports.WANT = [2];\nexports.f = () => 1;\n"},
		{"a.c", "const int WANT[] = { 1 };\nint f(void) { return 1; }\n", "const int WANT[] = { 2 };\nint f(void) { return 2; }\n", "const int WANT[] = { 2 };\nint f(void) { return 1; }\n"},
		{"a.py", "LIMIT = 9\n", "LIMIT = 3\n", ""},
		{"a.js", "const WANT = require('./new');\n", "const WANT = require('./old');\n", ""},
		{"a.py", "if WANT == \"b\":\n    f()\n", "if WANT == \"a\":\n    f()\n", ""},
	} {
		got, ok := Restored(c.name, c.now, c.before, func(name string) bool { return name == "WANT" || name == "f" })
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %q, %v", c.name, got, ok)
		}
	}
}
