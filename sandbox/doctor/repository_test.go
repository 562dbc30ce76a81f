package doctor

import (
	"os/exec"
	"strings"
	"testing"

	"git-ward/internal/config"
)

// TestBranches: doctor says where directives and the project are, and names the branch
// that is not there.
func TestBranches(t *testing.T) {
	bare := t.TempDir()
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", bare, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "--quiet", "--bare")
	look := func(c config.Control) Finding {
		e := &examiner{ctx: t.Context()}
		e.branches(bare, c)
		if len(e.found) != 1 {
			t.Fatal(e.found)
		}
		return e.found[0]
	}
	commit := git("", "commit-tree", "-m", "first", git("", "mktree"))
	for _, c := range []struct {
		refs, control, project string
		state                  State
		says                   string
	}{
		{"", "main", "main", Missing, "there is no refs/heads/main, which [control] branch names"},
		{"main", "main", "main", Fine, "directives, protocols and the project are on main"},
		{"master", "ward", "master", Missing, "there is no refs/heads/ward, which [control] branch names"},
		{"ward", "ward", "trunk", Missing, "there is no refs/heads/trunk, which [control] project names"},
		{"ward", "ward", "master", Fine, "directives and protocols are on ward, the project is on master"},
	} {
		if c.refs != "" {
			git("", "update-ref", "refs/heads/"+c.refs, commit)
		}
		if f := look(config.Control{Branch: c.control, Project: c.project}); f.State != c.state || f.Detail != c.says || (f.State == Missing) != (f.Mend != "") {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}
