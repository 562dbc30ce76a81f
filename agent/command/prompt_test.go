package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/agent/prompt"
	"git-ward/internal/cli"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
)

// TestPromptBound: all that a worker is told before its first turn has a bound, whatever
// other directives there are and whatever was reported on them (AGT-2).
func TestPromptBound(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const bound = 24 << 10 // bytes: an excerpt, the grammar of plans, and the orientation of this small project
	for _, n := range []int{1, 16, 200} {
		dir := t.TempDir()
		write := func(name, text string) {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("SYSTEM.md", "You are an agent.\n")
		write("knowledge_core/agent_meta.json", `{"name": "test", "limitations": ["none known"]}`)
		document := manyDirectives(n)
		if len(document) > comms.MaxBytes {
			t.Fatalf("COMMS.md has %d bytes", len(document))
		}
		write("COMMS.md", document)
		for _, line := range []string{"init -q -b main", "add -A", "-c user.name=Pat -c user.email=pat@example.org commit -q -m first"} {
			if out, err := exec.Command("git", append([]string{"-C", dir}, strings.Fields(line)...)...).CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v\n%s", line, err, out)
			}
		}
		for _, kind := range prompt.Kinds() {
			var out bytes.Buffer
			g := &gatherer{ctx: t.Context(), tree: &worktree.Tree{Dir: dir},
				env: &cli.Env{Dir: dir, Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }}}
			p, begun, err := g.gather("D-1", kind)
			if err != nil {
				t.Fatal(err)
			}
			if p.Orientation = begun; kind == prompt.Program {
				out.WriteString(p.Text())
			} else if err := g.show(p, begun); err != nil {
				t.Fatal(err)
			}
			if out.Len() > bound {
				t.Errorf("%s, %d directives: %d bytes are told; at most %d may be", kind, n, out.Len(), bound)
			}
			if !strings.Contains(out.String(), "The criterion of D-1") {
				t.Errorf("%s, %d directives: what decides is not told", kind, n)
			}
			t.Logf("%s: %d directives, %d bytes of COMMS.md, %d bytes told, about %d tokens", kind, n, len(document), out.Len(), out.Len()/4)
		}
	}
}

// manyDirectives is a COMMS.md in which each of n directives has reports of its share.
func manyDirectives(n int) string {
	var b strings.Builder
	b.WriteString("# COMMS\n\n## Directives\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "\n### D-%d: do the work number %d\n\nSay hello as often as it takes.\n\n- [ ] The criterion of D-%d (`sh hello.sh`)\n", i, i, i)
	}
	b.WriteString("\n## Reports\n")
	for i := 1; i <= n; i++ {
		size := min(130<<10/n, comms.MaxReportBytes-200)
		fmt.Fprintf(&b, "\n### R-%d 2026-11-21T09:00:00Z D-%d INFO\n\n%s\n", i, i, strings.Repeat("word ", size/5))
	}
	return b.String()
}
