package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/keyline"
)

func newFile(t *testing.T) (File, func() string) {
	t.Helper()
	f := File{Bare: t.TempDir(), Program: "/ward/bin/git-ward"}
	if err := os.Mkdir(filepath.Join(f.Bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	return f, func() string {
		data, _ := os.ReadFile(filepath.Join(f.Bare, Path))
		return string(data)
	}
}

func newKey(t *testing.T, name string, until time.Time) Key {
	t.Helper()
	private, public, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	if signer, err := ssh.ParsePrivateKey(private); err != nil || !strings.HasPrefix(string(ssh.MarshalAuthorizedKey(signer.PublicKey())), public) {
		t.Fatalf("the halves are of two keys: %v", err)
	}
	return Key{Name: name, Public: public, Door: []string{"--lease", name}, Until: until}
}

// TestFile: a key comes, is replaced, goes with its time and when it is taken back; what a
// person wrote stays.
func TestFile(t *testing.T) {
	f, text := newFile(t)
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	one := newKey(t, "D-1.0123456789abcdef", now.Add(time.Hour))
	if err := f.Add(one, now); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`restrict,expiry-time="20261122100000Z",command="'/ward/bin/git-ward' 'door' '--stdio' '--bare' '%s' '--lease' 'D-1.0123456789abcdef'" %s ward:D-1.0123456789abcdef`+"\n", f.Bare, one.Public)
	if text() != want {
		t.Errorf("%s\nwant\n%s", text(), want)
	}
	const persons = "ssh-ed25519 AAAA pat@example.org\n"
	if err := os.WriteFile(filepath.Join(f.Bare, Path), []byte(persons+text()), 0o600); err != nil {
		t.Fatal(err)
	}
	again := newKey(t, one.Name, now.Add(2*time.Hour))
	two := newKey(t, "D-2.0123456789abcdef", now.Add(time.Minute))
	for _, k := range []Key{again, two} {
		if err := f.Add(k, now); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(text(), one.Public) || strings.Count(text(), "\n") != 3 {
		t.Errorf("the key was not replaced:\n%s", text())
	}
	if err := f.Add(newKey(t, "D-3.0123456789abcdef", now.Add(time.Hour)), now.Add(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text(), two.Public) {
		t.Error("a key whose time is over is there still")
	}
	if err := f.Remove(one.Name); err != nil || strings.Contains(text(), again.Public) {
		t.Errorf("%v\n%s", err, text())
	}
	if err := f.Keep(func(string) bool { return false }); err != nil || text() != persons {
		t.Errorf("%v\n%s", err, text())
	}
	if info, err := os.Stat(filepath.Join(f.Bare, Path)); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// TestHostile: no name, key or path writes a second option, word or line.
func TestHostile(t *testing.T) {
	f, text := newFile(t)
	good := newKey(t, "D-1.0123456789abcdef", time.Now().Add(time.Hour))
	for what, change := range map[string]func(*Key){
		"a name with a line":  func(k *Key) { k.Name = "D-1\nssh-ed25519 AAAA" },
		"a name of options":   func(k *Key) { k.Name = `x",command="id` },
		"a key with a second": func(k *Key) { k.Public += "\n" + k.Public },
		"options in the key":  func(k *Key) { k.Public = `command="id" ` + k.Public + "\n" },
		"no key":              func(k *Key) { k.Public = "ssh-ed25519 AAAA" },
		"a word with a line":  func(k *Key) { k.Door = []string{"--lease", "x\nssh-ed25519"} },
	} {
		k := good
		change(&k)
		if err := f.Add(k, time.Now()); err == nil {
			t.Errorf("%s is taken:\n%s", what, text())
		}
	}
	f.Program = `/a b"c'd/git-ward`
	if err := f.Add(good, time.Now()); err != nil || !strings.Contains(text(), `command="'/a b\"c'\''d/git-ward' 'door'`) {
		t.Errorf("%v\n%s", err, text())
	}
	if _, _, options, _, err := ssh.ParseAuthorizedKey([]byte(text())); err != nil || len(options) != 3 {
		t.Errorf("%q %v", options, err)
	}
}

// TestLink: a link to the keys that an admin keeps elsewhere stays one, whatever it leads to, and
// stops no launch that has nothing to write.
func TestLink(t *testing.T) {
	f, _ := newFile(t)
	path := filepath.Join(f.Bare, Path)
	for name, text := range map[string]string{"keys": "ssh-ed25519 AAAA admin\n", "unended": "ssh-ed25519 AAAA admin", "empty": "", "missing": ""} {
		theirs := filepath.Join(t.TempDir(), name)
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		err = errors.Join(err, os.Symlink(theirs, path))
		if name != "missing" {
			err = errors.Join(err, os.WriteFile(theirs, []byte(text), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Keep(func(string) bool { return false }); err != nil {
			t.Errorf("%s: nothing is to go, and it says: %v, %q", name, err, diag.Hints(err))
		}
		err = f.Add(newKey(t, "D-1.0123456789abcdef", time.Unix(2e9, 0)), time.Unix(1e9, 0))
		if err == nil || !strings.Contains(strings.Join(diag.Hints(err), ""), "move it away: mv "+path+" ") {
			t.Errorf("%s: it is written to: %v, %q", name, err, diag.Hints(err))
		}
		if to, err := os.Readlink(path); err != nil || to != theirs {
			t.Errorf("%s: the link leads to %q, %v", name, to, err)
		}
		if data, _ := os.ReadFile(theirs); string(data) != text {
			t.Errorf("%s: %q", name, data)
		}
	}
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := f.Keep(func(string) bool { return false }); err == nil {
		t.Error("a pipe is read")
	}
}

// TestManyWriters: no key is lost when many come and go at once.
func TestManyWriters(t *testing.T) {
	f, text := newFile(t)
	var writers sync.WaitGroup
	for i := range 16 {
		k := newKey(t, fmt.Sprintf("D-%d.0123456789abcdef", i+1), time.Now().Add(time.Hour))
		writers.Go(func() {
			if err := f.Add(k, time.Now()); err != nil {
				t.Error(err)
			}
			if i%2 == 0 {
				if err := f.Remove(k.Name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if got := strings.Count(text(), " "+keyline.Comment("")); got != 8 {
		t.Errorf("%d keys of 8:\n%s", got, text())
	}
}
