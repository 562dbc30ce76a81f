package verifier

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/sandbox/podman"
)

// TestSpareScript: what waits for its command gets every byte of it, quotes and lines too, runs it
// on a checkout of what came into its directory meanwhile, and leaves it no input.
func TestSpareScript(t *testing.T) {
	var odd bytes.Buffer
	for b := 1; b < 256; b++ {
		if b != '\n' {
			odd.WriteByte(byte(b))
		}
	}
	r := newRepository(t)
	tree := r.git("rev-parse", r.commit(files{"a file": "of the tree\n"})+"^{tree}")
	for _, shell := range []string{"sh", "bash"} {
		needs(t, shell)
		for name, trial := range map[string]struct {
			line, want string
			code       int
		}{
			"quotes and lines":  {"cat <<'E' \"a file\" - | tr -d '\\\\'\n\n  it's \"$HOME\" \\ `x`\t\n\nE\n", "of the tree\n\n  it's \"$HOME\"  `x`\t\n\n", 0},
			"every byte":        {"printf %s '" + strings.ReplaceAll(odd.String(), "'", "") + "'\n\n\n", strings.ReplaceAll(odd.String(), "'", ""), 0},
			"no input":          {"cat; read -r x || exit 7", "", 7},
			"nothing":           {"", "", 0},
			"nothing of Ward's": {"set | grep -c ^ward_; env | grep ward_; readlink /proc/$$/fd/0", "0\n/dev/null\n", 0},
		} {
			t.Run(shell+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				work, trees := filepath.Join(dir, "work"), filepath.Join(dir, "trees")
				empty, err := emptyRepo(dir)
				if err == nil {
					err = os.Mkdir(trees, 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer empty.Remove()
				repo := empty.Path
				made, err := scratch.Make(dir, "objects-")
				if err != nil {
					t.Fatal(err)
				}
				defer made.Remove()
				j := judged{repo: git.Open(r.bare).WithObjectDir(made.Path), dir: trees, made: map[string]*judgedTree{}}
				defer j.close()
				h := newHold(work)
				s := h.streams()
				cmd := exec.Command(shell, "-c", waitScript+"true"+heldScript, "verify", repo, work)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				go func() { // as podman does
					io.Copy(in, s.Stdin)
					in.Close()
				}()
				cmd.Stdout, cmd.Stderr = s.Stdout, s.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				job, err := j.job(t.Context(), tree)
				if err != nil {
					t.Fatal(err)
				}
				if err := fillRepo(repo, job.Repo); err != nil {
					t.Fatal(err)
				}
				job.Line = trial.line
				var out, said bytes.Buffer
				over := make(chan struct{})
				observed := h.release(job, podman.Streams{Stdout: &out, Stderr: &said}, 0, over)
				err = cmd.Wait()
				close(over)
				if o := observed(); o != nil || !h.began() {
					t.Errorf("began %v, observed %+v", h.began(), o)
				}
				if code := cmd.ProcessState.ExitCode(); code != trial.code || out.String() != trial.want || said.Len() > 0 {
					t.Errorf("exit %d (%v), want %d; %q, want %q; %s", code, err, trial.code, out.String(), trial.want, said.String())
				}
			})
		}
	}
}

// TestSpares: a container is made ahead for a job that is known to come, one for each run under
// way; one that no longer waits is not used, and none is left.
func TestSpares(t *testing.T) {
	dir, alive, makes := t.TempDir(), true, 0
	var broken error
	s := &spares{wait: time.Hour, make: func(context.Context) (*prepared, error) {
		if makes++; broken != nil {
			return nil, broken
		}
		made, err := emptyRepo(dir)
		return &prepared{hold: newHold("/work"), dir: made, born: time.Now(), alive: func() bool { return alive }}, err
	}}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	defer s.enter()()
	take := func(job Job, want bool) *prepared {
		t.Helper()
		p, err := s.take(t.Context(), &job)
		if err != nil || (p != nil) != want {
			t.Fatalf("%+v: %v %v", job, p, err)
		}
		return p
	}
	next, last, other := Job{Repo: "r", Next: true}, Job{Repo: "r"}, Job{Repo: "r", Next: true, Env: map[string]string{"A": "1"}}
	take(last, false)
	take(other, false)
	take(next, false) // and one is made
	first := take(next, true)
	second := take(last, true)
	if first == second {
		t.Error("a container is used twice")
	}
	take(last, false)
	take(next, false)
	take(other, false) // which leaves it
	alive = false
	take(last, false)
	alive = true
	take(next, false)
	s.all[0].p = func() *prepared { <-s.all[0].done; return s.all[0].p }()
	s.all[0].p.born = time.Time{}
	take(last, false)
	broken = errors.New("no memory")
	take(next, false)
	take(last, false)
	broken = nil
	take(next, false) // and is left
	s.discard(t.Context(), first)
	s.discard(t.Context(), second)
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || makes != 6 {
		t.Errorf("%d made, %v left, %v", makes, left, err)
	}
}
