package broken

import (
	"slices"
	"testing"
)

// TestFailed: how runners name the tests that failed.
func TestFailed(t *testing.T) {
	for output, want := range map[string][]string{
		"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\nFAIL\nFAIL\texample.org/a\t0.1s\n--- FAIL: TestA (0.00s)\nFAIL\texample.org/b\t0.1s\nok  \texample.org/c\t0.1s\n": {"example.org/a.TestA", "example.org/a.TestA/sub", "example.org/b.TestA"},
		"ERROR: test_two (test_x.TestTwo.test_two)\n----\nFAIL: test_one (test_x.TestTwo.test_one)\nFAILED (failures=1, errors=1)\n":                                                 {"test_one (test_x.TestTwo.test_one)", "test_two (test_x.TestTwo.test_two)"},
		"FAILED tests/test_x.py::test_two - ZeroDivisionError: division by zero\n1 failed\n":                                                                                         {"tests/test_x.py::test_two"},
		"running 1 test\ntest two ... FAILED\ntest three ... ok\n":                                                                                                                   {"two"},
		"✖ two (1.5ms)\n  ✖ deep (0.1ms)\n✔ three (1ms)\n":                                                                                                                           {"deep", "two"},
		"not ok 1 - two\nok 2 - three\nnot ok 3 later # TODO\n":                                                                                                                      {"later", "two"},
		"  ● calc › two\n FAIL  test/x.test.ts > calc > two\n":                                                                                                                       {"calc > two", "calc › two"},
		"all is well\nFAIL\nFAILED\n": nil,
	} {
		if got := Failed(output); !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", output, got, want)
		}
	}
}

// TestLostByBareName: a test that moved is not lost, and one of two of the same name that is gone
// is.
func TestLostByBareName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, now, want []string }{
		{[]string{"example.org/a.TestTwo", "example.org/a.TestTwo/sub"}, []string{"example.org/b.TestTwo", "example.org/b.TestTwo/sub"}, nil},
		{[]string{"example.org/a.TestTwo", "example.org/b.TestTwo"}, []string{"example.org/b.TestTwo"}, []string{"example.org/a.TestTwo"}},
		{[]string{"example.org/a.TestTwo", "example.org/b.TestTwo"}, []string{"example.org/c.TestTwo"}, []string{"example.org/b.TestTwo"}},
		{[]string{"tests/test_a.py::test_two[1-a::b]", "tests/test_a.py::T::test_one"}, []string{"tests/test_b.py::test_two[1-a::b]"}, []string{"tests/test_a.py::T::test_one"}},
		{[]string{"test_two (tests.test_a.T.test_two)"}, []string{"test_two (tests.test_b.U.test_two)"}, nil},
		{[]string{"a::tests::two", "three (fast)"}, []string{"b::two", "three (slow)"}, []string{"three (fast)"}},
		{[]string{"two"}, []string{"one"}, []string{"two"}},
	} {
		if got := Lost(c.before, c.now); !slices.Equal(got, c.want) {
			t.Errorf("%q, then %q: %q are lost, not %q", c.before, c.now, got, c.want)
		}
	}
}
