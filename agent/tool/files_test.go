package tool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// TestConfined: no path leads out of the working tree or into .git, to read or
// to write, and nothing outside is changed by trying.
func TestConfined(t *testing.T) {
	b := newBox(t)
	outside := t.TempDir()
	for path, content := range map[string]string{
		filepath.Join(outside, "secret"):       "secret",
		filepath.Join(b.Dir, ".git", "config"): "[core]",
		filepath.Join(b.Dir, "sub", "file"):    "file",
	} {
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"out": outside, "secret": filepath.Join(outside, "secret"), "up": "..", "git": ".git", "inside": "sub",
		"config": ".git/config", "sub/far": "../../..", "loop": "loop", "dangling": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(b.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(b.Dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, read, write string }{
		{"", "the path is empty", "the path is empty"},
		{"/etc/passwd", "/etc/passwd is absolute", "/etc/passwd is absolute"},
		{"../x", "../x holds `..`", "../x holds `..`"},
		{"sub/../../x", "sub/../../x holds `..`", "sub/../../x holds `..`"},
		{"up/../x", "up/../x holds `..`", "up/../x holds `..`"},
		{"a\x00b", "the path holds a NUL byte", "the path holds a NUL byte"},
		{".git/config", ".git/config is in .git", ".git/config is in .git"},
		{"./.GIT/x", ".GIT/x is in .git", ".GIT/x is in .git"},
		{"sub/.git", "sub/.git is in .git", "sub/.git is in .git"},
		{"git/config", ".git/config is in .git", ".git is in .git"},
		{"git/new/file", "git/new/file does not exist", ".git is in .git"},
		{"config", ".git/config is in .git", "config is a symbolic link to .git/config"},
		{"out/secret", "out/secret leads out", "out/secret leads out"},
		{"out/new", "out/new leads out", "out/new leads out"},
		{"secret", "secret leads out", "secret leads out"},
		{"up/x", "up/x leads out", "up/x leads out"},
		{"sub/far/x", "sub/far/x leads out", "sub/far/x leads out"},
		{"loop", "loop: too many", "loop is a symbolic link to loop"},
		{"dangling", "dangling does not exist", "dangling is a symbolic link to nowhere"},
		{"sub", "sub is a directory", "sub is a directory"},
		{".", ". is a directory", ". is a directory"},
		{"pipe", "pipe is not a regular file", "pipe is not a regular file"},
		{"pipe/x", "pipe/x: not a directory", "pipe/x: not a directory"},
		{"sub/file/x", "sub/file/x: not a directory", "sub/file/x: not a directory"},
	} {
		path, _ := json.Marshal(c.path)
		if r := call(t, b, "read_file", fmt.Sprintf(`{"path":%s}`, path)); !r.IsError || !strings.HasPrefix(r.Text, c.read) {
			t.Errorf("read %q: %+v, want %q", c.path, r, c.read)
		}
		if r := call(t, b, "write_file", fmt.Sprintf(`{"path":%s,"content":"evil"}`, path)); !r.IsError || !strings.HasPrefix(r.Text, c.write) {
			t.Errorf("write %q: %+v, want %q", c.path, r, c.write)
		}
	}
	if r := call(t, b, "write_file", `{"path":"inside/new","content":"fine"}`); r.IsError {
		t.Error(r)
	}
	for dir, want := range map[string]int{outside: 1, filepath.Join(b.Dir, ".git"): 1, filepath.Dir(b.Dir): 1, filepath.Join(b.Dir, "sub"): 3} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%s holds %v (%v)", dir, entries, err)
		}
	}
}

func TestWrite(t *testing.T) {
	b := newBox(t)
	script := filepath.Join(b.Dir, "run")
	if err := os.WriteFile(script, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(script, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		mode os.FileMode
	}{{"run", 0o755}, {"a/b/c", 0o644}, {"a/b/c", 0o644}} {
		if r := call(t, b, "write_file", `{"path":"`+c.path+`","content":"new\n"}`); r != (Result{Text: "wrote " + c.path + ", 4 bytes"}) {
			t.Error(r)
		}
		path := filepath.Join(b.Dir, c.path)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != c.mode {
			t.Errorf("%s: %v, %v", c.path, info.Mode(), err)
		}
		if data, _ := os.ReadFile(path); string(data) != "new\n" {
			t.Errorf("%s holds %q", c.path, data)
		}
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) > 2 {
			t.Errorf("left behind: %v", entries)
		}
	}
	if r := call(t, b, "write_file", `{"path":"big","content":"`+strings.Repeat("x", 1001)+`"}`); !r.IsError || r.Text != "big would have 1001 bytes; at most 1000 can be pushed" {
		t.Error(r)
	}
}

// TestReadOn: following the last lines gives the whole file, cut at characters.
func TestReadOn(t *testing.T) {
	b := newBox(t)
	content := strings.Repeat("grüße, 世界\n", 12000)
	if err := os.WriteFile(filepath.Join(b.Dir, "f"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	for offset, calls := int64(0), 0; ; calls++ {
		r := call(t, b, "read_file", fmt.Sprintf(`{"path":"f","offset":%d}`, offset))
		at := strings.LastIndex(r.Text, "\n[bytes ")
		if r.IsError || at < 0 || at > readSize || !utf8.ValidString(r.Text) {
			t.Fatalf("call %d: %.100q", calls, r.Text)
		}
		whole.WriteString(r.Text[:at])
		var from, to, size int64
		if n, _ := fmt.Sscanf(r.Text[at:], "\n[bytes %d to %d of %d; read on with offset %d]", &from, &to, &size, &offset); n == 3 {
			break
		}
		if from+int64(at) != to || to != offset || size != int64(len(content)) {
			t.Fatal(r.Text[at:])
		}
	}
	if whole.String() != content {
		t.Error("the parts are not the whole")
	}
	for args, want := range map[string]string{
		`{"path":"f","limit":5}`:            "grü\n[bytes 0 to 4 of 192000; read on with offset 4]",
		`{"path":"f","offset":999999}`:      "\n[bytes 999999 to 999999 of 192000; the end]",
		`{"path":"f","offset":191993}`:      "世界\n\n[bytes 191993 to 192000 of 192000; the end]",
		`{"path":"f","offset":1,"limit":1}`: "r\n[bytes 1 to 2 of 192000; read on with offset 2]",
	} {
		if r := call(t, b, "read_file", args); r.IsError || r.Text != want {
			t.Errorf("%s: %q", args, r.Text)
		}
	}
}

func TestReadSmallAndBinary(t *testing.T) {
	b := newBox(t)
	for name, content := range map[string]string{"empty": "", "small": "a\n", "latin1": "gr\xfc\xdfe", "binary": "a\x00b"} {
		if err := os.WriteFile(filepath.Join(b.Dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]Result{
		"empty": {}, "small": {Text: "a\n"}, "latin1": {Text: "gr\ufffde"},
		"binary": {Text: "binary is not text (3 bytes): look at it by the tool bash", IsError: true},
	} {
		if r := call(t, b, "read_file", `{"path":"`+name+`"}`); r != want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestRunningBranch: the branch that the process runs from takes words, no code.
func TestRunningBranch(t *testing.T) {
	b := newBox(t)
	b.Running = true
	for path, refused := range map[string]bool{"main.go": true, "agent/x.go": true, "COMMS.md": false, "evidence/D-1/x": false, "LEARNINGS.md": false} {
		r := call(t, b, "write_file", `{"path":"`+path+`","content":"x"}`)
		if r.IsError != refused || refused && !strings.Contains(r.Text, "another branch") {
			t.Errorf("%s: %+v", path, r)
		}
	}
}
