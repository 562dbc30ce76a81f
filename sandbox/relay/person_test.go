package relay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// told is all of a tree: each path with its mode and what is in it.
func told(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all[path] = info.Mode().String()
		if err == nil && info.Mode().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			all[path] += string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSecondNear: a near takes no other's socket, and one that is gone is in nobody's way.
func TestSecondNear(t *testing.T) {
	dir := t.TempDir()
	first, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := listen(dir); err == nil || !strings.Contains(err.Error(), "another process serves ") {
		t.Error(second, err)
	}
	first.SetUnlinkOnClose(false) // as one that is killed
	first.Close()
	second, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

// TestPersonsDirectory: a directory with a person's files in it is refused as it is: as a
// mirror, which a fetch makes the gate's, and for a socket.
func TestPersonsDirectory(t *testing.T) {
	home := t.TempDir()
	work, bare, door := filepath.Join(home, "work"), filepath.Join(home, "mirror"), filepath.Join(home, "door")
	gittest.Git(t, home, "init", "--quiet", work)
	gittest.Git(t, work, "commit", "--quiet", "--allow-empty", "--message", "thesis")
	gittest.Git(t, home, "clone", "--quiet", "--bare", work, bare)
	if err := errors.Join(os.Mkdir(door, 0o700), os.Mkdir(filepath.Join(home, "result"), 0o700)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(work, "Cargo.lock"), "[[package]]", 0o644)
	writeFile(t, filepath.Join(work, ".git/index.lock"), "", 0o644)
	writeFile(t, filepath.Join(bare, "refs/heads/main.lock"), "", 0o644)
	writeFile(t, filepath.Join(bare, "objects/pack/tmp_pack_x"), "", 0o644)
	writeFile(t, filepath.Join(door, "sock"), "a person's", 0o600)
	writeFile(t, filepath.Join(home, "result", "thesis"), "a person's", 0o600)
	before := told(t, home)
	for _, dir := range []string{home, work, filepath.Join(work, ".git"), bare} {
		m, err := newMirror(t.Context(), Config{Mirror: dir}, nil)
		if err == nil {
			m.claim.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "Ward did not make it") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for _, dir := range []string{door, filepath.Join(home, "result")} {
		l, err := listen(dir)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "near did not make it") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	after := told(t, home)
	for path := range after {
		if before[path] != after[path] {
			t.Errorf("%s was made or changed", path)
		}
		delete(before, path)
	}
	for path := range before {
		t.Errorf("%s is gone", path)
	}
}

// TestMirrorIsOnes: an empty directory becomes a mirror, of one near at a time; what a near
// that was killed left unfinished goes, and what an earlier version of Ward made is taken
// where Ward chose its path.
func TestMirrorIsOnes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mirror")
	made := func(own bool) (*mirror, error) { return newMirror(t.Context(), Config{Mirror: dir, Own: own}, nil) }
	first, err := made(false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made(false); err == nil {
		t.Error("two nears have one mirror")
	}
	first.claim.Close()
	unfinished := filepath.Join(dir, "objects/pack/tmp_pack_x")
	writeFile(t, unfinished, "", 0o644)
	again, err := made(false)
	if err != nil {
		t.Fatal(err)
	}
	again.claim.Close()
	if _, err := os.Stat(unfinished); err == nil {
		t.Error("what a killed near left stays")
	}
	if err := os.Remove(filepath.Join(dir, ".ward-own")); err != nil { // as earlier versions of Ward left it
		t.Fatal(err)
	}
	if m, err := made(false); err == nil {
		t.Error("a repository that Ward may not have made is taken")
		m.claim.Close()
	}
	m, err := made(true)
	if err != nil {
		t.Fatal(err)
	}
	m.claim.Close()
}
