package hooks_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
)

// grow adds objects to a bare repository's main with fast-import, three a commit.
func grow(t *testing.T, p *gittest.Pair, objects int) {
	t.Helper()
	cmd := exec.Command("git", "fast-import", "--quiet", "--force")
	cmd.Dir, cmd.Env = p.Bare, p.Env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("reset refs/heads/main\nfrom refs/heads/main^0\n\n")
	for i := range objects / 3 {
		content := fmt.Sprintf("content %d", i)
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter Pat <pat@example.org> %d +0000\ndata 1\nc\nM 100644 inline bulk/file%d\ndata %d\n%s\n", 1600000000+i, i%100, len(content), content)
		if b.Len() > 1<<20 {
			if _, err := in.Write(b.Bytes()); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	in.Write(b.Bytes())
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	p.Run(p.Bare, "git", "commit-graph", "write", "--reachable", "--no-progress")
}

// variants of a bare repository, by what its hooks directory holds.
type variant struct {
	name string
	bare string
	took []time.Duration
}

// TestBenchOneCommitPush compares a push of one commit through both hooks with
// the same push without hooks, and with a pair of hooks that do nothing, in turn.
func TestBenchOneCommitPush(t *testing.T) {
	benchtest.Only(t)
	for _, objects := range []int{15_000, 1_000_000} {
		p := newPair(t)
		grow(t, p, objects)
		p.Run(p.Bare, "git-ward", "init", "--bare", p.Bare) // record the bulk
		dir := filepath.Dir(p.Bare)
		plain, noop := filepath.Join(dir, "plain.git"), filepath.Join(dir, "noop.git")
		for _, c := range []string{plain, noop} {
			p.Run(dir, "cp", "-a", p.Bare, c)
			p.Run(c, "git", "config", "core.hooksPath", "hooks-"+filepath.Base(c))
		}
		buildNoop(t, p, filepath.Join(noop, "hooks-noop.git"))
		p.Run(dir, "git", "clone", "--quiet", "--shared", "--no-checkout", p.Bare, "client")
		client := filepath.Join(dir, "client")
		variants := []*variant{{name: "no hooks", bare: plain}, {name: "two Go programs that do nothing", bare: noop}, {name: "Ward's hooks", bare: p.Bare}}
		parent := strings.TrimSpace(p.Run(client, "git", "rev-parse", "origin/main"))
		top := p.Run(client, "git", "ls-tree", "origin/main")
		for i := range 45 {
			blob, err := p.Try(client, nil, fmt.Sprint(objects, i), "git", "hash-object", "-w", "--stdin")
			if err != nil {
				t.Fatal(blob)
			}
			tree, err := p.Try(client, nil, top+"100644 blob "+strings.TrimSpace(blob)+"\tzz-file\n", "git", "mktree")
			if err != nil {
				t.Fatal(tree)
			}
			parent = strings.TrimSpace(p.Run(client, "git", "commit-tree", "-p", parent, "-m", "c", strings.TrimSpace(tree)))
			order := append(variants[i%3:], variants[:i%3]...)
			for _, v := range slices.Clone(order) {
				start := time.Now()
				if out, err := p.Try(client, nil, "", "git", "push", "--quiet", v.bare, parent+":refs/heads/agent/b"); err != nil {
					t.Fatal(out)
				}
				if i >= 5 {
					v.took = append(v.took, time.Since(start))
				}
			}
		}
		base := benchtest.Median(variants[0].took)
		for _, v := range variants[1:] {
			m := benchtest.Median(v.took)
			benchtest.Against(fmt.Sprintf("push of one commit, %d objects, %s", objects, v.name), m, "no hooks", base)
		}
		benchtest.Row(fmt.Sprintf("what Ward's hooks add to that push, %d objects", objects), benchtest.MS(benchtest.Median(variants[2].took)-base), "two Go programs that do nothing "+benchtest.MS(benchtest.Median(variants[1].took)-base), "")
		p.Run(p.Bare, "git-ward", "fsck")
	}
}

func buildNoop(t *testing.T, p *gittest.Pair, dir string) {
	t.Helper()
	src := filepath.Join(filepath.Dir(p.Bare), "noop")
	for name, content := range map[string]string{"go.mod": "module noop\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.MkdirAll(src, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pre-receive", "post-receive"} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, name), ".")
		cmd.Dir, cmd.Env = src, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
	}
}

// TestBenchThousandCommits measures the hooks' share of a push of 1,000 commits.
func TestBenchThousandCommits(t *testing.T) {
	benchtest.Only(t)
	p := newPair(t)
	grow(t, p, 15_000)
	p.Run(p.Bare, "git-ward", "init", "--bare", p.Bare)
	dir := filepath.Dir(p.Bare)
	plain := filepath.Join(dir, "plain.git")
	p.Run(dir, "cp", "-a", p.Bare, plain)
	p.Run(plain, "git", "config", "core.hooksPath", "/nonexistent")
	p.Run(dir, "git", "clone", "--quiet", "--no-checkout", p.Bare, "client")
	client := filepath.Join(dir, "client")
	var with, without []time.Duration
	for round := range 5 {
		var b bytes.Buffer
		fmt.Fprintf(&b, "reset refs/heads/r%d\nfrom refs/remotes/origin/main^0\n\n", round)
		for i := range 1000 {
			fmt.Fprintf(&b, "commit refs/heads/r%d\ncommitter Pat <pat@example.org> %d +0000\ndata 1\nc\nM 100644 inline src/dir%d/file%d\ndata 10\n%d%09d\n", round, 1700000000+i, i%20, i, round, i)
		}
		if out, err := p.Try(client, nil, b.String(), "git", "fast-import", "--quiet"); err != nil {
			t.Fatal(out)
		}
		for _, to := range []struct {
			bare string
			took *[]time.Duration
		}{{plain, &without}, {p.Bare, &with}} {
			start := time.Now()
			if out, err := p.Try(client, nil, "", "git", "push", "--quiet", to.bare, fmt.Sprintf("r%d:refs/heads/agent/r%d", round, round)); err != nil {
				t.Fatal(out)
			}
			*to.took = append(*to.took, time.Since(start))
		}
	}
	m, base := benchtest.Median(with), benchtest.Median(without)
	benchtest.Against("push of 1,000 commits", m, "no hooks", base)
	benchtest.Row("what Ward's hooks add to it (aim 250 ms)", benchtest.MS(m-base), "", "")
}

// TestBenchAuditRecords has 16 writers append 100 records each at once.
func TestBenchAuditRecords(t *testing.T) {
	benchtest.Only(t)
	const writers, each = 16, 100
	p := newPair(t)
	repo := git.Open(p.Bare)
	main, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	appendRecords(t, repo, main, writers, each)
	took := time.Since(start)
	kept := strings.Count(p.Run(p.Bare, "git-ward", "log", "--json"), `"push":"push-`)

	q := newPair(t)
	start = time.Now()
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				q.Try(q.Bare, nil, "", "git", "notes", "--ref=other", "append", "-m", fmt.Sprintf("push-%d-%d", w, i), "refs/heads/main")
			}
		})
	}
	wait.Wait()
	other := time.Since(start)
	otherKept := strings.Count(q.Run(q.Bare, "git", "notes", "--ref=other", "show", "refs/heads/main"), "push-")
	rate := func(n int, d time.Duration) string {
		return fmt.Sprintf("%d kept, %.0f a second", n, float64(n)/d.Seconds())
	}
	benchtest.Row("16 writers x 100 audit records at once", rate(kept, took), "git notes append: "+rate(otherKept, other), fmt.Sprintf("%.2f", float64(kept)/float64(cmp.Or(otherKept, 1))))
}

// TestBenchStarts: the processor time of each program before it knows what is asked, beside a Go
// program that does nothing, in turns: a busy machine does not change it much.
func TestBenchStarts(t *testing.T) {
	benchtest.Only(t)
	p := newPair(t)
	dir := t.TempDir()
	buildNoop(t, p, dir)
	spent := func(program string, args ...string) time.Duration {
		c := exec.Command(program, args...)
		c.Dir, c.Env = dir, p.Env
		c.Run() // a hook without a push ends in an error
		if c.ProcessState == nil {
			t.Fatalf("%s does not start", program)
		}
		return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	for _, name := range []string{"pre-receive", "post-receive", "git-ward", "git-ward-launch", "ward-watcher", "ward-inside"} {
		program, args := filepath.Join(p.Bare, "hooks", name), []string(nil)
		info, err := os.Stat(program)
		if errors.Is(err, fs.ErrNotExist) {
			args = []string{"--version"}
			program = strings.TrimSpace(p.Run(dir, "sh", "-c", "command -v "+name))
			info, err = os.Stat(program)
		}
		if err != nil {
			t.Fatal(err)
		}
		var took, base []time.Duration
		for range 100 {
			took = append(took, spent(program, args...))
			base = append(base, spent(filepath.Join(dir, "pre-receive")))
		}
		benchtest.Against(fmt.Sprintf("start of %s (%.1f MB), processor time", name, float64(info.Size())/1e6), benchtest.Median(took), "a Go program that does nothing", benchtest.Median(base))
	}
}
