package command_test

import (
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestNamedSources: a source that a criterion names decides, and whoever writes the directive is told
// unless it is declared as work, or is a test.
func TestNamedSources(t *testing.T) {
	tier.First(t, "it pushes through Ward's hooks")
	p := newCopy(t)
	p.Write("package.json", `{"name": "x", "main": "index.js"}`+"\n")
	p.Write("index.js", "module.exports = 1\n")
	p.Write("lib/other.js", "module.exports = 2\n")
	p.Write("test/index.test.js", "require('../index.js')\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "a library")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	const text = "two\n\n- [ ] it is two (`node -e \"process.exit(require('./index.js') - 2)\" && node test/index.test.js`)\n"
	const warns = "criteria/named-source: a criterion names index.js, so a change of it does not count as work"
	for work, want := range map[string]int{"": 1, "- work: index.js\n": 0, "- work: **\n": 1} {
		out := ward(t, p, 0, "directive", "new", "-m", text+work)
		if n := strings.Count(out, warns); n != want || strings.Count(out, "criteria/named-source") != want {
			t.Errorf("%q: %d warnings, want %d:\n%s", work, n, want, out)
		}
		if want > 0 && !strings.Contains(out, "add the line `- work: index.js`: git ward directive edit D-") {
			t.Errorf("%q: no remedy:\n%s", work, out)
		}
	}
	p.Fsck()
}
