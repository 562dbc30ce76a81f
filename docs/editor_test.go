package docs_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// editorBlock names, in the environment of a session, the file with the block that
// the next $EDITOR writes.
const editorBlock = "WARD_DOCUMENT_BLOCK"

// edit is what $EDITOR does in a session: it writes the block that the document shows
// above the command into the file, as the document's reader does by hand. A directive
// goes below "## Directives", in place of the one with its id; settings go below their
// [table], in place of those with their keys; any other text becomes the file.
func edit(file string) error {
	text, err := os.ReadFile(os.Getenv(editorBlock))
	if err != nil {
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	switch {
	case strings.HasSuffix(file, "COMMS.md"):
		text = []byte(directive(string(old), string(text)))
	case strings.HasSuffix(file, ".toml"):
		text = []byte(settings(string(old), string(text)))
	}
	return os.WriteFile(file, text, 0o644)
}

// directive puts a directive into COMMS.md.
func directive(comms, text string) string {
	id, _, _ := strings.Cut(text, ":")
	var out strings.Builder
	skip := false
	for line := range strings.Lines(comms) {
		if strings.HasPrefix(line, "##") {
			skip = strings.HasPrefix(line, id+":")
		}
		if skip {
			continue
		}
		out.WriteString(line)
		if line == "## Directives\n" {
			out.WriteString("\n" + text)
		}
	}
	return out.String()
}

// settings puts settings, each on a line of its own, into a file of settings.
func settings(file, text string) string {
	lines := strings.Split(file, "\n")
	table := ""
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "[") {
			table = line
			continue
		}
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		key, _, _ := strings.Cut(line, "=")
		at := slices.Index(lines, table)
		if at < 0 {
			lines, at = append(lines, table), len(lines)
		}
		end := at + 1
		for ; end < len(lines) && !strings.HasPrefix(lines[end], "["); end++ {
			if name, _, ok := strings.Cut(lines[end], "="); ok && strings.TrimSpace(name) == strings.TrimSpace(key) {
				lines = slices.Delete(lines, end, end+1)
				break
			}
		}
		lines = slices.Insert(lines, at+1, line)
	}
	return strings.Join(lines, "\n")
}

func TestEdit(t *testing.T) {
	if got, want := directive("# COMMS\n\n## Directives\n\n### D-1: old\n\nx\n\n### D-2: kept\n\n## Reports\n", "### D-1: new\n\ny\n"),
		"# COMMS\n\n## Directives\n\n### D-1: new\n\ny\n\n### D-2: kept\n\n## Reports\n"; got != want {
		t.Errorf("%s", got)
	}
	if got, want := settings("[a]\nx = 1\ny = 2\n[b]\nx = 3", "[b]\nx = 4 # why\n[c]\nz = 5\n"), "[a]\nx = 1\ny = 2\n[b]\nx = 4 # why\n[c]\nz = 5"; got != want {
		t.Errorf("%s", got)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(editorBlock) != "" {
		if err := edit(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}
