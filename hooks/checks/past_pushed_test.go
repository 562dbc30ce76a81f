package checks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

// pastHistory is a bare repository with a project's history of every kind of fault, and its
// commits, oldest first.
func pastHistory(t *testing.T) (*git.Repo, []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org",
			"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000"}
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run("", "init", "-q", "--bare", "--initial-branch=master")
	blobs := map[string]string{}
	for name, text := range map[string]string{"plain": "x\n", "other": "y\n", "secret": "key = AKIAIOSFODNN7" + "QRSTUVW\n", "large": strings.Repeat("z", 5000)} {
		blobs[name] = run(text, "hash-object", "-w", "--stdin")
	}
	var commits []string
	add := func(message string, paths []string, parents ...int) {
		run("", "read-tree", "--empty")
		for _, p := range paths {
			path, blob, _ := strings.Cut(p, "=")
			run("", "update-index", "--add", "--cacheinfo", "100644,"+blobs[blob]+","+path)
		}
		args := []string{"commit-tree", run("", "write-tree"), "-m", message}
		for _, n := range parents {
			args = append(args, "-p", commits[n])
		}
		commits = append(commits, run("", args...))
	}
	add("root", []string{"go.mod=plain", ".github/ci.yml=plain"})
	add("plain", []string{"go.mod=other", ".github/ci.yml=plain"}, 0)
	add("a secret", []string{"go.mod=other", "k=secret", ".github/ci.yml=plain"}, 1)
	add("without", []string{"go.mod=other", ".github/ci.yml=plain"}, 2)
	add("protected", []string{"go.mod=other", ".github/ci.yml=other"}, 3)
	add("large", []string{"go.mod=other", ".github/ci.yml=other", "data=large"}, 4)
	add("Ward's names", []string{"go.mod=other", ".github/ci.yml=other", "COMMS.md=plain", "VERSION=plain", "AGENTS.md=plain", "plans/p.txt=plain", "logs/a=plain"}, 5)
	add("case", []string{"go.mod=other", "Go.mod=other", ".github/ci.yml=other"}, 6)
	add("bad message \x07", []string{"go.mod=other", ".github/ci.yml=other"}, 7)
	run("", "update-ref", "refs/heads/master", commits[len(commits)-1])
	return git.Open(dir), commits
}

// TestPastIsAsPushed: what JudgePast says of a commit is what Judge says when the commit is
// pushed on top of its parent; it says no more and no less (CTRL-2).
func TestPastIsAsPushed(t *testing.T) {
	repo, commits := pastHistory(t)
	settings := config.Default()
	settings.Control = config.Control{Branch: "ward", Project: "master"}
	settings.Limits.BlobSize = 4000
	total := 0
	for who, ref := range map[push.Principal]string{push.Member: "refs/heads/master", push.PM: "refs/heads/master", push.Agent: "refs/heads/agent/D-1"} {
		past := map[string][]string{}
		batch := repo.Batch(t.Context())
		defer batch.Close()
		err := checks.JudgePast(t.Context(), repo, batch, checks.Past{Principal: who, Config: settings, Ref: ref, Commits: commits}, func(commit string, r *checks.Result) error {
			past[commit] = said(r)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, commit := range commits[1:] {
			if _, err := repo.Output(t.Context(), "update-ref", "refs/heads/master", commits[i]); err != nil {
				t.Fatal(err)
			}
			old := git.Zero
			if ref == "refs/heads/master" {
				old = commits[i]
			}
			fresh := repo.Batch(t.Context())
			pushed, err := checks.Judge(t.Context(), repo, fresh, &checks.Push{Principal: who, Config: settings, Branches: "refs/heads/",
				Updates: []push.Update{{Ref: ref, Old: old, New: commit}}})
			fresh.Close()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := past[commit], said(pushed); !slices.Equal(got, want) {
				t.Errorf("%s, commit %d: the past says\n%q\na push\n%q", who, i+1, got, want)
			}
			total += len(past[commit])
		}
		if _, err := repo.Output(t.Context(), "update-ref", "refs/heads/master", commits[len(commits)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if total < 10 {
		t.Errorf("only %d findings were compared", total)
	}
}

// said is a result's findings, a line each.
func said(r *checks.Result) (lines []string) {
	for _, d := range r.Findings {
		lines = append(lines, fmt.Sprintf("%s %s: %s: %s", d.Severity, d.Place(), d.Rule, d.Message))
	}
	return lines
}
