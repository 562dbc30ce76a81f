package hooks_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// measuredVar names the hook that this test's own program stands in front of.
const measuredVar = "WARD_TEST_MEASURED_HOOK"

// measure runs a hook and leaves its largest resident size, in KiB, beside it.
func measure(hook string) int {
	os.Unsetenv(measuredVar)
	cmd := exec.Command(hook)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if err := os.WriteFile(hook+".peak", []byte(fmt.Sprint(peak)), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return cmd.ProcessState.ExitCode()
}

// measured puts this test's program in front of pre-receive and returns how to read
// what the last push took, in MiB.
func measured(p *gittest.Pair) (peak func() int) {
	p.T.Helper()
	self, err := os.Executable()
	if err != nil {
		p.T.Fatal(err)
	}
	hook := filepath.Join(p.Bare, "hooks/pre-receive")
	real := filepath.Join(p.Bare, "measured/pre-receive")
	if err := os.Mkdir(filepath.Dir(real), 0o755); err != nil {
		p.T.Fatal(err)
	}
	if err := os.Rename(hook, real); err != nil {
		p.T.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s'\n", measuredVar, real, self)
	gittest.Program(p.T, hook, script)
	return func() int {
		p.T.Helper()
		data, err := os.ReadFile(real + ".peak")
		if err != nil {
			p.T.Fatal(err)
		}
		kib, err := strconv.Atoi(string(data))
		if err != nil {
			p.T.Fatal(err)
		}
		return kib >> 10
	}
}

// fastImport makes the branch agent/bomb of the clone from a stream of commands,
// after its beginning.
func fastImport(p *gittest.Pair, fill func(b *bytes.Buffer)) {
	p.T.Helper()
	var b bytes.Buffer
	b.WriteString("feature done\nreset refs/heads/agent/bomb\nfrom refs/heads/main\n\n")
	fill(&b)
	b.WriteString("done\n")
	if out, err := p.Try(p.Work, nil, b.String(), "git", "fast-import", "--quiet", "--force"); err != nil {
		p.T.Fatal(err, out)
	}
}

func commitLine(b *bytes.Buffer, i int) {
	fmt.Fprintf(b, "commit refs/heads/agent/bomb\ncommitter Pat <pat@example.org> %d +0000\ndata 2\nc\n", 1700000000+i)
}

func file(b *bytes.Buffer, path, content string) {
	fmt.Fprintf(b, "M 100644 inline %q\ndata %d\n%s\n", path, len(content), content)
}

// bombs are pushes that cost much for their size. Each makes agent/bomb.
var bombs = map[string]func(p *gittest.Pair){
	"100,000 findings": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			commitLine(b, 0)
			for i := range 100_000 {
				fmt.Fprintf(b, "M 100644 inline logs/d%d/%d\ndata 1\nx\n", i%300, i)
			}
		})
	},
	"a folder of 200,000 names": func(p *gittest.Pair) {
		blob := p.Object("blob", "x")
		var tree bytes.Buffer
		for i := range 200_000 {
			tree.WriteString(entry("100644", fmt.Sprintf("n%06d", i), blob))
		}
		p.Git("branch", "--force", "agent/bomb", commitOf(p, p.Object("tree", tree.String()), strings.TrimSpace(p.Git("rev-parse", "main"))))
	},
	"60 commits of a wide tree": func(p *gittest.Pair) {
		// One blob, trees that share all but a few entries: a small pack, much to walk.
		blob := p.Object("blob", "x")
		parent := strings.TrimSpace(p.Git("rev-parse", "main"))
		repo := git.Open(filepath.Join(p.Work, ".git"))
		for i := range 60 {
			var tree bytes.Buffer
			for k := range 15_000 {
				tree.WriteString(entry("100644", fmt.Sprintf("n%02d%06d", i, k), blob))
			}
			id, err := repo.WriteObject("tree", tree.Bytes())
			if err != nil {
				p.T.Fatal(err)
			}
			parent = commitOf(p, id, parent)
		}
		p.Git("branch", "--force", "agent/bomb", parent)
	},
	"a mesh of 400 plans": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			commitLine(b, 0)
			for i := range 400 {
				var text strings.Builder
				text.WriteString("# FSM: sub\n")
				for k := range 400 {
					if k != i {
						fmt.Fprintf(&text, "call_plan plans/p%03d.txt\n", k)
					}
				}
				file(b, fmt.Sprintf("plans/p%03d.txt", i), text.String())
			}
		})
	},
	"10,000 commits": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			for i := range 10_000 {
				commitLine(b, i)
				file(b, fmt.Sprintf("d%d/f%d", i%100, i%1000), fmt.Sprint(i))
			}
		})
	},
	"24 files of 10 MB": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			commitLine(b, 0)
			for i := range 24 {
				file(b, fmt.Sprintf("f%d", i), strings.Repeat(fmt.Sprintf("line %d of text\n", i), 600_000))
			}
		})
	},
	"a plan of 8 MB": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			commitLine(b, 0)
			file(b, "plans/long.txt", "# FSM: sub\n"+strings.Repeat("call_plan nowhere\n", 440_000))
		})
	},
	"20 UDC plans of 4 MB that are registered": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			commitLine(b, 0)
			var names []string
			for i := range 20 {
				file(b, fmt.Sprintf("plans/u%d.udc", i), fmt.Sprintf("CALL plan u%d\n", (i+1)%20)+strings.Repeat("MOV R1, 1\n", 380_000)+"RET\n")
				names = append(names, fmt.Sprintf("%q: %q", fmt.Sprintf("u%d", i), fmt.Sprintf("plans/u%d.udc", i)))
			}
			file(b, "knowledge_core/plan_registry.json", "{"+strings.Join(names, ",\n")+"}\n")
		})
	},
	"COMMS.md of broken lines": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			commitLine(b, 0)
			file(b, "COMMS.md", "# COMMS\n## Directives\n"+strings.Repeat("### D-1: x\n", 23_000))
		})
	},
	"lessons of one byte": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			commitLine(b, 0)
			var text strings.Builder
			for i := range 500_000 {
				fmt.Fprintf(&text, "%d\n", i)
			}
			file(b, "knowledge_core/lessons.jsonl", text.String())
		})
	},
	"a manifest of many entries": func(p *gittest.Pair) {
		fastImport(p, func(b *bytes.Buffer) {
			commitLine(b, 0)
			var list []string
			for i := range 20_000 {
				list = append(list, fmt.Sprintf(`{"path":"evidence/D-1/loop/x%d","sha256":"%064d","iteration":1}`, i, i))
			}
			file(b, "evidence/D-1/loop/artifacts.json", `{"artifacts":[`+strings.Join(list, ",")+`]}`)
			file(b, "evidence/D-1/loop/manifest.json", `{"artifacts":[`+strings.Join(list, ",")+`]}`)
		})
	},
}

// TestMemoryOfBombs: a hook stays below 256 MiB on each bomb, and answers.
func TestMemoryOfBombs(t *testing.T) {
	tier.Full(t, "every bomb, each beside a measurement of the hook")
	const most = 256 // MiB
	for name, makeBomb := range bombs {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // one hook is one process: two at a time do not share what is measured
			p := newPair(t)
			peak := measured(p)
			makeBomb(p)
			out, err := p.AgentPush("agent/bomb")
			answer := "admitted"
			if err != nil {
				answer = "refused"
				if !strings.Contains(out, "finding") {
					t.Errorf("no finding:\n%.2000s", out)
				}
			}
			for line := range strings.Lines(out) {
				if strings.Contains(line, "error: push refused") || strings.Contains(line, "limit/") {
					answer += " " + strings.TrimSpace(line)
				}
			}
			t.Logf("%d MiB, %.300s", peak(), answer)
			if n := peak(); n >= most {
				t.Errorf("the hook took %d MiB, more than %d", n, most)
			}
			stillWorks(t, p)
		})
	}
}
