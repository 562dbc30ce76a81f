package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// progress is what a command says where it takes longer than two seconds.
var progress = regexp.MustCompile(`^git-ward: .* \.\.\.\n$`)

// matches compares what a command printed with what its document shows. In the
// document a line `...` stands for any number of lines, and `...` within a line for
// any text of at least one character: ids, dates, times. Blanks at the ends of lines
// do not count, nor does progress, which a fast machine does not print.
func matches(want, got string) bool {
	var re strings.Builder
	re.WriteString(`\A`)
	for line := range strings.Lines(want) {
		line = strings.TrimRight(line, " \t\n")
		if line == "..." {
			re.WriteString(`(?:.*\n)*?`)
			continue
		}
		for i, part := range strings.Split(line, "...") {
			if i > 0 {
				re.WriteString(`.+`)
			}
			re.WriteString(regexp.QuoteMeta(part))
		}
		re.WriteString(`\n`)
	}
	re.WriteString(`\z`)
	var lines strings.Builder
	for line := range strings.Lines(got) {
		if progress.MatchString(line) {
			continue
		}
		lines.WriteString(strings.TrimRight(line, " \t\n") + "\n")
	}
	return regexp.MustCompile(re.String()).MatchString(lines.String())
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"", "", true},
		{"", "noise\n", false},
		{"a\n", "git-ward: 7 pages ...\na\n", true},
		{"a\n", "git-ward: error: 7 pages\na\n", false},
		{"a\n", "a", true},
		{"a\n", "a \n", true},
		{"a\n", "b\n", false},
		{"a\nb\n", "a\n", false},
		{"[agent/D-1 ...] text\n", "[agent/D-1 1234567] text\n", true},
		{"[agent/D-1 ...] text\n", "[agent/D-1 ] other\n", false},
		{"id ...\n", "id \n", false},
		{"...\nlast\n", "one\ntwo\nlast\n", true},
		{"...\nlast\n", "last\n", true},
		{"first\n...\n", "first\none\n", true},
		{"first\n...\nlast\n", "first\nlast\nmore\n", false},
		{"a.c\n", "abc\n", false},
	} {
		if matches(c.want, c.got) != c.ok {
			t.Errorf("%q and %q: match is %v, want %v", c.want, c.got, !c.ok, c.ok)
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ document, problem string }{
		{"```sh\ntrue\n```\n", ""},
		{"```console exit=1\n$ false\n```\n", ""},
		{"```\ntrue\n```\n", "1: a fence without a kind"},
		{"```bash\ntrue\n```\n", `1: unknown kind "bash"`},
		{"```sh needs=luck\ntrue\n```\n", `1: unknown tier "luck"`},
		{"```sh exit=1\ntrue\n```\n", `1: "exit=1" does not stand behind "sh"`},
		{"text\n\n    $ git push\n", "3: indented code"},
		{"- an item\n\n    goes on\n", ""},
		{"- an item\n\ntext\n\n    code\n", "5: indented code"},
		{"~~~sh\ntrue\n~~~\n", "1: a fence is"},
		{"- an item\n\n  ```sh\n  true\n  ```\n", "3: a fence is"},
		{"<pre>git push</pre>\n", "1: code in HTML"},
		{"```sh\necho '~~~' '<pre>'\n```\n", ""},
		{"```sh\ntrue\n", "1: this fence is never closed"},
	} {
		_, problems := blocks(c.document)
		if got := strings.Join(problems, "\n"); (c.problem == "") != (got == "") || !strings.HasPrefix(got, c.problem) {
			t.Errorf("%q: %q, want %q", c.document, got, c.problem)
		}
	}
}

func TestConsole(t *testing.T) {
	all, problem := block{line: 7, text: "$ one\nout\n$ two \\\n> more\n> even\nlast\n> output\n"}.console()
	if problem != "" || len(all) != 2 || all[0] != (example{8, "one\n", "out\n", true}) || all[1] != (example{10, "two \\\nmore\neven\n", "last\n> output\n", true}) {
		t.Errorf("%+v %s", all, problem)
	}
	if _, problem := (block{text: "output\n"}).console(); problem == "" {
		t.Error("a block without a command passes")
	}
}
