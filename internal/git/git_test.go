package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func bare(t *testing.T) *Repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	return Open(dir)
}

func TestStoredIsZlib(t *testing.T) {
	for _, n := range []int{0, 1, 65535, 65536, 200_000} {
		data := bytes.Repeat([]byte("ward"), n/4+1)[:n]
		r, err := zlib.NewReader(bytes.NewReader(stored(data)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestWriteAndReadObjects(t *testing.T) {
	r := bare(t)
	batch := r.Batch(t.Context())
	defer batch.Close()
	for _, content := range []string{"", "x", strings.Repeat("y", 100_000)} {
		id, err := r.WriteObject("blob", []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		o, data, err := batch.Read(id, 1<<20)
		if err != nil || o.Kind != "blob" || string(data) != content {
			t.Errorf("%v %+v %d bytes", err, o, len(data))
		}
	}
	var large *TooLarge
	id, _ := r.WriteObject("blob", make([]byte, 100))
	if _, _, err := batch.Read(id, 99); !errors.As(err, &large) || large.Object.Size != 100 {
		t.Errorf("limit: %v", err)
	}
	if _, err := batch.Info(strings.Repeat("0", 40)); !errors.Is(err, ErrMissing) {
		t.Errorf("missing: %v", err)
	}
	for _, name := range []string{"", "a\x00b"} {
		if _, err := batch.Info(name); err == nil || errors.Is(err, ErrMissing) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := batch.Info("refs/heads/no such"); !errors.Is(err, ErrMissing) {
		t.Errorf("a name with a space: %v", err)
	}
	// A path may hold a line's end, and read as an answer or as another request.
	odd := "a\n\tb missing\ninfo " + id + "\n"
	tree, err := batch.EditTree("", map[string][]byte{odd: []byte("odd")})
	if err != nil {
		t.Fatal(err)
	}
	if _, data, err := batch.Read(tree+":"+odd, 1000); err != nil || string(data) != "odd" {
		t.Errorf("%q: %v", data, err)
	}
	for _, name := range []string{tree + ":" + odd + "x", "a\nb", "\n", "a\n", "a\nb missing\n"} {
		if _, err := batch.Info(name); !errors.Is(err, ErrMissing) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, _, err := batch.Read(id, 1000); err != nil { // still alive
		t.Error(err)
	}
	batch.child.cmd.Process.Kill()
	if _, err := batch.Info(strings.Repeat("1", 40)); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("a killed child is not named: %v", err)
	}
}

func TestUpdateRefsByCompareAndSwap(t *testing.T) {
	r := bare(t)
	tree, _ := r.WriteObject("tree", nil)
	var ids [2]string
	for i := range ids {
		ids[i], _ = r.WriteObject("commit", []byte("tree "+tree+"\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n"+string(rune('a'+i))+"\n"))
	}
	ctx := t.Context()
	if err := r.UpdateRefs(ctx, "test", RefUpdate{"refs/heads/a", Zero, ids[0]}, RefUpdate{"refs/heads/b", Zero, ids[0]}); err != nil {
		t.Fatal(err)
	}
	// One stale old value moves neither ref.
	err := r.UpdateRefs(ctx, "test", RefUpdate{"refs/heads/a", ids[0], ids[1]}, RefUpdate{"refs/heads/b", ids[1], ids[1]})
	if !errors.Is(err, ErrLostRace) {
		t.Errorf("stale: %v", err)
	}
	for _, ref := range []string{"refs/heads/a", "refs/heads/b"} {
		if id, err := r.Ref(ctx, ref); err != nil || id != ids[0] {
			t.Errorf("%s: %s %v", ref, id, err)
		}
	}
	var wins int
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if r.UpdateRefs(ctx, "test", RefUpdate{"refs/heads/a", ids[0], ids[1]}) == nil {
				mu.Lock()
				wins++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if wins != 1 {
		t.Errorf("%d of 8 won the same race", wins)
	}
	if err := r.UpdateRefs(ctx, "test", RefUpdate{"refs/heads/a", ids[1], Zero}); err != nil {
		t.Error(err)
	}
}

// The scrubbed environment holds against the caller's: replacement objects,
// global configuration and a foreign GIT_DIR have no effect.
func TestEnvironmentIsScrubbed(t *testing.T) {
	r := bare(t)
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[ward]\n\tplanted = yes\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", home)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "ward.planted")
	t.Setenv("GIT_CONFIG_VALUE_0", "yes")
	if found, err := r.Exits(t.Context(), "config", "--get", "ward.planted"); found || err != nil {
		t.Errorf("planted configuration is seen: %v %v", found, err)
	}
	real, _ := r.WriteObject("blob", []byte("real"))
	fake, _ := r.WriteObject("blob", []byte("fake"))
	if err := r.UpdateRefs(t.Context(), "test", RefUpdate{"refs/replace/" + real, Zero, fake}); err != nil {
		t.Fatal(err)
	}
	if out, err := r.Output(t.Context(), "cat-file", "blob", real); err != nil || string(out) != "real" {
		t.Errorf("replaced: %q %v", out, err)
	}
}

func TestDeadlineIsNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bare(t).Output(ctx, "rev-parse", "HEAD"); err == nil {
		t.Error("a cancelled child succeeded")
	}
}

func TestTrailers(t *testing.T) {
	message := "subject: not one\n\nbody\n\nWard-Work: done\nward-work: twice \nOther: x\n"
	if got := strings.Join(Trailers(message, "Ward-Work"), "|"); got != "done|twice" {
		t.Error(got)
	}
	if got := Trailers("Ward-Work: subject only", "Ward-Work"); got != nil {
		t.Error(got)
	}
}
