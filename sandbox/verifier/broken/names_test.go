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
