package docs_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

// update is for whoever changed what a command prints: go test ./docs -update, and
// then git diff.
var update = flag.Bool("update", false, "write what the commands print into the documents")

// general is an output with `...` for what is another each time: the session's home,
// ids, hashes, times.
func general(output string) string {
	output = blanks.ReplaceAllString(changing.ReplaceAllString(output, "..."), "")
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	return output
}

var (
	changing = regexp.MustCompile(`/[^ \n]*/TestExamplesRun[^/]*/[0-9]+/here|\b[0-9a-f]{7,64}(\.\.[0-9a-f]{7,64})?\b|\b20[0-9]{2}-[0-9]{2}-[0-9]{2}([T ][0-9:]{8}Z?)?|\b[0-9.]+ ?m?s\b`)
	blanks   = regexp.MustCompile(`(?m) +$`)
)

func TestGeneral(t *testing.T) {
	if got, want := general("[main 1234abc] /tmp/TestExamplesRunpm.md1/001/here/x 1234567..89abcde 2026-11-21T09:00:00Z 12 s "), "[main ...] .../x ... ... ...\n"; got != want {
		t.Error(got)
	}
}

// rewrite puts the blocks' texts into their document.
func rewrite(t *testing.T, name string, all []block) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	var out strings.Builder
	at := 0
	for _, b := range all {
		for ; at < b.line; at++ {
			out.WriteString(lines[at])
		}
		out.WriteString(b.text)
		for !strings.HasPrefix(lines[at], "```") {
			at++
		}
	}
	out.WriteString(strings.Join(lines[at:], ""))
	if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
