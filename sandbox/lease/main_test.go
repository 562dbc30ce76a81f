package lease

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
)

// TestMain lets the test binary play another launcher's process.
func TestMain(m *testing.M) {
	if bare := os.Getenv("LEASE_TEST_TAKES"); bare != "" {
		takeAll(bare)
		return
	}
	os.Exit(m.Run())
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// repository is a bare one without hooks, which leases do not pass.
type repository struct {
	t    testing.TB
	dir  string
	repo *git.Repo
}

func newRepository(t testing.TB, comms string) *repository {
	t.Helper()
	r := &repository{t: t, dir: filepath.Join(t.TempDir(), "x.git")}
	r.repo = git.Open(r.dir)
	r.git("init", "--quiet", "--bare", "--initial-branch=main", r.dir)
	r.comms(comms)
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir", r.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) commit(ref, name, text string) {
	r.t.Helper()
	old, err := r.repo.Ref(r.t.Context(), ref)
	parent := old
	if old == git.Zero {
		parent = ""
	}
	var id string
	if err == nil {
		id, err = r.repo.CommitFile(parent, name, []byte(text), noon, "x")
	}
	if err == nil {
		err = r.repo.UpdateRefs(r.t.Context(), "x", git.RefUpdate{Ref: ref, Old: old, New: id})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) comms(text string) { r.commit("refs/heads/main", "COMMS.md", text) }

// directives is a COMMS.md of so many.
func directives(n int) string {
	var b strings.Builder
	b.WriteString("# COMMS\n\n## Directives\n\n")
	for i := range n {
		fmt.Fprintf(&b, "### D-%d: x\n\n- [ ] y (`true`)\n\n", i+1)
	}
	return b.String() + "## Reports\n"
}

func (r *repository) book() *Book { return &Book{Repo: r.repo, Settings: config.Default()} }

// at is a book whose clock shows a time.
func (r *repository) at(now *time.Time) *Book {
	b := r.book()
	b.Now = func() time.Time { return *now }
	return b
}
