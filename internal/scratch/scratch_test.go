package scratch_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/failpoint"
	"git-ward/internal/gittest"
	"git-ward/internal/scratch"
	"git-ward/internal/tier"
)

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// made is a directory with a file in it, held until it is let go of.
func made(t *testing.T, parent string) *scratch.Dir {
	t.Helper()
	d, err := scratch.Make(parent, "x-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Path, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// TestSweep: what nobody uses any more goes, and nothing else: not what is in use, by a
// child even, not a copy, a link, a file, a like name, one that was renamed, or one whose
// mark says another's identity.
func TestSweep(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	used, dead := made(t, parent), made(t, parent)
	renamed := made(t, parent)
	run(t, "cp", "-a", dead.Path, filepath.Join(parent, "ward-copy"))
	run(t, "cp", "-a", dead.Path, elsewhere)
	stays := []string{
		filepath.Join(parent, "ward-copy"), filepath.Join(elsewhere, filepath.Base(dead.Path)), filepath.Join(parent, "ward-renamed"),
		filepath.Join(parent, "ward-link"), filepath.Join(parent, "ward-file"), filepath.Join(parent, "ward-project"), filepath.Join(elsewhere, "kept"), used.Path,
	}
	err := errors.Join(
		os.Rename(renamed.Path, filepath.Join(parent, "ward-renamed")), os.Symlink(elsewhere, filepath.Join(parent, "ward-link")),
		os.WriteFile(filepath.Join(parent, "ward-file"), nil, 0o600), os.WriteFile(filepath.Join(elsewhere, "kept"), nil, 0o600),
		os.Mkdir(filepath.Join(parent, "ward-project"), 0o700), os.WriteFile(filepath.Join(parent, "ward-project", "thesis"), nil, 0o600),
		os.Symlink(elsewhere, filepath.Join(dead.Path, "out")), os.MkdirAll(filepath.Join(dead.Path, "deep", "shut"), 0o700), os.Chmod(filepath.Join(dead.Path, "deep"), 0o500),
	)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat") // until its input ends
	child.ExtraFiles = []*os.File{used.Lock}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*scratch.Dir{used, dead, renamed} {
		d.Lock.Close() // as a kill does
	}
	if err := scratch.Sweep(parent); err != nil {
		t.Fatal(err)
	}
	if there(dead.Path) {
		t.Error("what nobody uses stays")
	}
	for _, path := range stays {
		if !there(path) {
			t.Errorf("%s is gone", path)
		}
	}
	stdin.Close()
	child.Wait()
	if err := scratch.Sweep(parent); err != nil || there(used.Path) {
		t.Errorf("its child has ended: %v", err)
	}
}

// TestSweptOnce: a process looks for what others left in a parent once, not for each directory.
func TestSweptOnce(t *testing.T) {
	parent := t.TempDir()
	made(t, parent)
	dead := made(t, parent)
	dead.Lock.Close()
	if made(t, parent); !there(dead.Path) {
		t.Error("the parent is swept for each directory")
	}
}

// TestStays: one leftover that does not go keeps nobody from a directory of his own, and
// none of the others from going; a sweep names it.
func TestStays(t *testing.T) {
	parent := t.TempDir()
	stays, goes := made(t, parent), made(t, parent)
	inTheWay := filepath.Join(stays.Path+".mark", "x") // where its mark would be put
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	stays.Lock.Close()
	goes.Lock.Close()
	other := filepath.Join(t.TempDir(), "other") // a parent of another name, which no Make has swept
	if err := os.Symlink(parent, other); err != nil {
		t.Fatal(err)
	}
	own, err := scratch.Make(other, "x-")
	if err != nil {
		t.Fatal(err)
	}
	if there(goes.Path) || !there(inTheWay) {
		t.Error("what goes stays, or what is a person's went")
	}
	if err := scratch.Sweep(parent); err == nil || !strings.Contains(err.Error(), filepath.Base(stays.Path)) {
		t.Errorf("the sweep does not name it: %v", err)
	}
	if err := own.Remove(); err != nil {
		t.Error(err)
	}
}

// TestSweepBesideMakers: a sweep that comes between a maker's removal and its letting go of
// the lock, or between its keeping of a directory and that, finds nothing of its own there.
func TestSweepBesideMakers(t *testing.T) {
	parent, kept := t.TempDir(), t.TempDir()
	end, ended := make(chan struct{}), make(chan error)
	for range 3 {
		go func() {
			for {
				select {
				case <-end:
					ended <- nil
					return
				default:
				}
				if err := scratch.Sweep(parent); err != nil {
					ended <- err
					<-end
					return
				}
			}
		}()
	}
	for i := range 2000 {
		d, keep := made(t, parent), filepath.Join(kept, strconv.Itoa(i))
		if err := d.Keep(keep); err != nil || !there(filepath.Join(keep, "file")) {
			t.Fatalf("kept: %v", err)
		}
		if err := made(t, parent).Remove(); err != nil {
			t.Fatal(err)
		}
	}
	close(end)
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for i := range 2000 {
		if !there(filepath.Join(kept, strconv.Itoa(i), "file")) {
			t.Fatalf("what was kept is emptied: %d", i)
		}
	}
}

// TestReclaim: a pointer removes what has its identity and is nobody's.
func TestReclaim(t *testing.T) {
	parent := t.TempDir()
	d, other := made(t, parent), made(t, parent)
	for what, pointer := range map[string][2]string{
		"in use": {d.Path, d.ID}, "another's identity": {d.Path, other.ID}, "no identity": {other.Path, ""}, "none": {"", d.ID},
	} {
		if err := scratch.Reclaim(pointer[0], pointer[1]); err != nil || !there(d.Path) || !there(other.Path) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	d.Lock.Close()
	other.Lock.Close()
	if err := scratch.Reclaim(d.Path, other.ID); err != nil || !there(d.Path) {
		t.Fatalf("another's identity, and nobody's: %v", err)
	}
	link := filepath.Join(t.TempDir(), filepath.Base(d.Path))
	if err := os.Symlink(d.Path, link); err != nil {
		t.Fatal(err)
	}
	if err := scratch.Reclaim(link, d.ID); err != nil || !there(d.Path) || !there(link) {
		t.Fatalf("by a link: %v", err)
	}
	if err := scratch.Reclaim(d.Path, d.ID); err != nil || there(d.Path) {
		t.Errorf("it is nobody's: %v", err)
	}
}

// TestRemove: who made a directory, or has inherited its lock, removes it, whatever it was
// replaced by in the meantime stays, and what is kept is no scratch any more.
func TestRemove(t *testing.T) {
	parent := t.TempDir()
	d := made(t, parent)
	if err := scratch.Inherit(d.Path, d.ID, d.Lock).Remove(); err != nil || there(d.Path) {
		t.Errorf("inherited: %v", err)
	}
	d = made(t, parent)
	aside := filepath.Join(parent, "aside")
	if err := errors.Join(os.Rename(d.Path, aside), os.Mkdir(d.Path, 0o700), os.WriteFile(filepath.Join(d.Path, "person's"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil || !there(filepath.Join(d.Path, "person's")) || !there(aside) {
		t.Errorf("replaced: %v", err)
	}
	d = made(t, parent)
	kept := filepath.Join(parent, "ward-kept")
	if err := d.Keep(kept); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(scratch.Sweep(parent), d.Remove()); err != nil || !there(filepath.Join(kept, "file")) {
		t.Errorf("kept: %v", err)
	}
	if left, _ := os.ReadDir(kept); len(left) != 1 {
		t.Errorf("what is kept has more than was put there: %v", left)
	}
	d = made(t, parent)
	if err := d.Keep(kept); err == nil {
		t.Error("it took the name of another directory")
	}
	if err := d.Remove(); err != nil || there(d.Path) || !there(filepath.Join(kept, "file")) {
		t.Errorf("not kept: %v", err)
	}
}

// TestUnopened: what cannot be opened is not gone for that, and who has to remove it hears so.
func TestUnopened(t *testing.T) {
	parent := t.TempDir()
	d := made(t, parent)
	d.Lock.Close()
	loop := filepath.Join(parent, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := scratch.Reclaim(filepath.Join(loop, filepath.Base(d.Path)), d.ID); !errors.Is(err, unix.ELOOP) {
		t.Errorf("below what cannot be opened: %v", err)
	}
	if err := scratch.Reclaim(filepath.Join(parent, "none", "x"), d.ID); err != nil {
		t.Errorf("below what is gone: %v", err)
	}
}

// TestClaim: a directory is Ward's that it made or found empty; a person's is not, nor is a
// copy, nor one that another launch works in.
func TestClaim(t *testing.T) {
	parent := t.TempDir()
	own, theirs := filepath.Join(parent, "own"), filepath.Join(parent, "theirs")
	if err := errors.Join(os.Mkdir(theirs, 0o700), os.WriteFile(filepath.Join(theirs, "thesis"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	refused := func(dir, words string, adopt bool) {
		t.Helper()
		f, err := scratch.Claim(dir, adopt)
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", dir, err, words)
		}
	}
	refused(theirs, "Ward did not make it", false)
	if left, _ := os.ReadDir(theirs); len(left) != 1 {
		t.Errorf("a person's directory is marked: %v", left)
	}
	first, err := scratch.Claim(own, false)
	if err != nil {
		t.Fatal(err)
	}
	refused(own, "another launch works in", false)
	refused(own, "another launch works in", true)
	first.Close()
	if err := os.WriteFile(filepath.Join(own, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := scratch.Claim(own, false)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	run(t, "cp", "-a", own, filepath.Join(parent, "copy"))
	refused(filepath.Join(parent, "copy"), "is a copy", false)
	for _, dir := range []string{theirs, filepath.Join(parent, "copy")} {
		f, err := scratch.Claim(dir, true)
		if err != nil {
			t.Fatalf("where Ward chose the path: %v", err)
		}
		f.Close()
	}
	full, linked, link := filepath.Join(parent, "full"), filepath.Join(parent, "linked"), filepath.Join(parent, "link")
	if err := errors.Join(os.Mkdir(full, 0o700), os.WriteFile(filepath.Join(full, ".ward-own"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := scratch.Claim(full, false)
	if err != nil {
		t.Fatalf("with a mark that a full disk cut off, and nothing else: %v", err)
	}
	f.Close()
	if err := errors.Join(os.Truncate(filepath.Join(full, ".ward-own"), 0), os.WriteFile(filepath.Join(full, "thesis"), nil, 0o600),
		os.Mkdir(linked, 0o700), os.WriteFile(filepath.Join(linked, "thesis"), nil, 0o600), os.Symlink(linked, link)); err != nil {
		t.Fatal(err)
	}
	refused(full, "Ward did not make it", false)
	refused(link, "Ward did not make it", true)
}

// TestRemoveOwn: what Claim took goes as a whole; a person's directory stays, and so does a
// copy, a link, and what somebody works in.
func TestRemoveOwn(t *testing.T) {
	parent := t.TempDir()
	at := func(name string) string { return filepath.Join(parent, name) }
	lock, err := scratch.Claim(at("own"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(at("own/a/b"), 0o700), os.WriteFile(at("own/a/b/c"), nil, 0o400), os.Chmod(at("own/a/b"), 0o500),
		os.Mkdir(at("theirs"), 0o700), os.WriteFile(at("theirs/thesis"), nil, 0o600), os.Symlink(at("own"), at("link"))); err != nil {
		t.Fatal(err)
	}
	run(t, "cp", "-a", at("own"), at("copy"))
	stays := func(name, words string) {
		t.Helper()
		if err := scratch.RemoveOwn(at(name)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", name, err, words)
		}
		if _, err := os.Lstat(at(name)); err != nil {
			t.Error(err)
		}
	}
	stays("own", "somebody works in")
	lock.Close()
	stays("theirs", "no mark of Ward's")
	stays("copy", "is of another directory")
	stays("link", "is a link")
	if err := scratch.RemoveOwn(at("own")); err != nil {
		t.Error(err)
	}
	for name, there := range map[string]bool{"own": false, "theirs/thesis": true, "copy/a/b/c": true} {
		if _, err := os.Lstat(at(name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Chmod(at("copy/a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestKilledMaker: whenever a maker is killed, the next one in the same parent leaves nothing
// of it; an empty directory of a person's, under a like name, stays.
func TestKilledMaker(t *testing.T) {
	tier.Full(t, "it runs programs of Ward's that are killed")
	p := gittest.New(t)
	for _, point := range []string{"announced", "made", "marked", "unmarked"} {
		parent := t.TempDir()
		if err := os.Mkdir(filepath.Join(parent, "ward-empty"), 0o700); err != nil {
			t.Fatal(err)
		}
		clone := func(dir string, env ...string) (string, error) {
			return p.Try(parent, env, "", "git-ward", "clone", p.Bare, dir)
		}
		if out, err := clone("one", failpoint.Var+"=scratch/"+point+"=kill"); err == nil {
			t.Fatalf("%s: it lives: %s", point, out)
		}
		before, err := os.ReadDir(parent)
		if err != nil || point != "unmarked" && len(before) < 2 {
			t.Fatalf("%s leaves only %v, %v", point, before, err)
		}
		if out, err := clone("two"); err != nil {
			t.Fatal(err, out)
		}
		entries, err := os.ReadDir(parent)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if err != nil || strings.Join(names, " ") != "two ward-empty" && strings.Join(names, " ") != "one two ward-empty" {
			t.Errorf("%s: %q, %v", point, names, err)
		}
	}
}
