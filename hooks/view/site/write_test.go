package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestWrite: a report has a page of everything, each link leads to a file of it, nothing
// of it runs or asks the network, and it is the same when it is written again.
func TestWrite(t *testing.T) {
	tier.First(t, "it writes two reports of 640 pages")
	dir := filepath.Join(t.TempDir(), "report")
	f := fixture{words: "a <b> c", n: 210, fails: "D-9"}
	r, err := Write(t.Context(), dir, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(r.Omitted, "\n"); len(r.Omitted) != 2 || !strings.Contains(said, `D-9, which cannot be read: its journal \x1b[2J is broken`) || !strings.Contains(said, "the work on 9 directives more: ") {
		t.Errorf("left out: %q", r.Omitted)
	}
	files := gittest.Contents(t, dir)
	for name, page := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, never := range []string{"<script", "://", " style=", "<form"} {
			if strings.Contains(page, never) {
				t.Errorf("%s has %s", name, never)
			}
		}
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				if to, _, _ := strings.Cut(a.Val, "#"); a.Key == "href" && to != "" && files[to] == "" {
					t.Errorf("%s leads to %s, which is not there", name, a.Val)
				}
			}
		}
	}
	for _, name := range []string{"index.html", "index-2.html", "D-1.html", "D-1.1.html", "D-1.review.html", "audit-1.html", "machines.html", "style.css", manifest} {
		if files[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	if _, err := Write(t.Context(), dir, f, nil); err != nil {
		t.Fatal(err)
	}
	for name, page := range gittest.Contents(t, dir) {
		if files[name] != page {
			t.Errorf("%s is another one the next time", name)
		}
	}
	if beside, _ := os.ReadDir(filepath.Dir(dir)); len(beside) != 1 {
		t.Errorf("left beside the report: %v", beside)
	}
}

// headless makes a report as a Ward made it whose lists had no head, with a file more or
// another one; without words it is a link to what the report had there.
func headless(t *testing.T, dir, name, words string) error {
	t.Helper()
	_, err := Write(t.Context(), dir, fixture{words: "x", n: 1}, nil)
	list, readErr := os.ReadFile(dir + "/" + manifest)
	err = errors.Join(err, readErr, os.WriteFile(dir+"/"+manifest, bytes.TrimPrefix(list, []byte(manifestHead)), 0o644))
	switch {
	case words != "":
		return errors.Join(err, os.WriteFile(dir+"/"+name, []byte(words), 0o644))
	case name != "":
		away := filepath.Join(t.TempDir(), name)
		return errors.Join(err, os.Rename(dir+"/"+name, away), os.Symlink(away, dir+"/"+name))
	}
	return err
}

// TestWriteReplacesOnlyItsOwn: what somebody put there stays, and is named.
func TestWriteReplacesOnlyItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		want string // of the error; "" for none
	}{
		"not there":  {func(string) error { return nil }, ""},
		"empty":      {func(dir string) error { return os.Mkdir(dir, 0o755) }, ""},
		"a report":   {func(dir string) error { _, err := Write(t.Context(), dir, fixture{words: "x", n: 1}, nil); return err }, ""},
		"a file":     {func(dir string) error { return os.WriteFile(dir, nil, 0o644) }, "is no directory"},
		"a link":     {func(dir string) error { return os.Symlink(t.TempDir(), dir) }, "is no directory"},
		"somebody's": {func(dir string) error { return os.MkdirAll(dir+"/x", 0o755) }, "no report of Ward's made it"},
		"a pipe for its list": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), unix.Mkfifo(dir+"/"+manifest, 0o644))
		}, "no report of Ward's made it"},
		"a list of somebody's": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(dir+"/D-1.html", []byte("old"), 0o644), os.WriteFile(dir+"/"+manifest, []byte(sumOf([]byte("old"))+"  D-1.html\n"), 0o644))
		}, "nothing proves that a report of Ward's made it"},
		"a report of an earlier Ward":                      {func(dir string) error { return headless(t, dir, "", "") }, ""},
		"a report of an earlier Ward, a page changed":      {func(dir string) error { return headless(t, dir, "D-1.html", "my notes") }, "move it away (mv "},
		"a report of an earlier Ward, added":               {func(dir string) error { return headless(t, dir, "notes.txt", "my notes") }, "move it away (mv "},
		"a report of an earlier Ward, a link in its place": {func(dir string) error { return headless(t, dir, "D-1.html", "") }, "move it away (mv "},
		"a report of a Ward that summed nothing": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(dir+"/index.html", []byte("old"), 0o644), os.WriteFile(dir+"/"+manifest, []byte("index.html\n"), 0o644))
		}, "move it away (mv "},
		"a report, a page changed": {func(dir string) error {
			if _, err := Write(t.Context(), dir, fixture{words: "x", n: 1}, nil); err != nil {
				return err
			}
			return os.WriteFile(dir+"/D-1.html", []byte("my notes"), 0o644)
		}, "has D-1.html, which is not as the report made it"},
		"a report, its list changed": {func(dir string) error {
			if _, err := Write(t.Context(), dir, fixture{words: "x", n: 1}, nil); err != nil {
				return err
			}
			list, err := os.ReadFile(dir + "/" + manifest)
			return errors.Join(err, os.WriteFile(dir+"/"+manifest, append(list, "my notes\n"...), 0o644))
		}, "no report of Ward's made it"},
		"a report, added": {func(dir string) error {
			if _, err := Write(t.Context(), dir, fixture{words: "x", n: 1}, nil); err != nil {
				return err
			}
			return os.WriteFile(dir+"/notes.txt", nil, 0o644)
		}, "has notes.txt"},
	} {
		dir := filepath.Join(t.TempDir(), "report")
		if err := c.make(dir); err != nil {
			t.Fatal(name, err)
		}
		_, err := Write(t.Context(), dir, fixture{words: "x", n: 2}, nil)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(fmt.Sprint(err, diag.Hints(err)), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case c.want == "" && gittest.Contents(t, dir)["D-2.html"] == "":
			t.Errorf("%s: no report", name)
		}
		if beside, _ := os.ReadDir(filepath.Dir(dir)); len(beside) != 1 {
			t.Errorf("%s: left beside it: %v", name, beside)
		}
	}
}

// TestWriteKeepsTheMode: who may look into a report that was there stays so.
func TestWriteKeepsTheMode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	for n := range 2 {
		if _, err := Write(t.Context(), dir, fixture{words: "x", n: n + 1}, nil); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if want := []os.FileMode{0o755, 0o700}[n]; err != nil || info.Mode().Perm() != want {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWriteChangedMeanwhile: a page that somebody changes while the next report is written stays.
func TestWriteChangedMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	if _, err := Write(t.Context(), dir, fixture{words: "old", n: 1}, nil); err != nil {
		t.Fatal(err)
	}
	_, err := Write(t.Context(), dir, fixture{words: "new", n: 50}, func(pages int) {
		if pages == 20 {
			os.WriteFile(dir+"/D-1.html", []byte("my notes"), 0o644)
		}
	})
	if err == nil || gittest.Contents(t, dir)["D-1.html"] != "my notes" {
		t.Error(err)
	}
}

// TestWriteStops: a report that is stopped half-way leaves nothing, and what was there.
func TestWriteStops(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	if _, err := Write(t.Context(), dir, fixture{words: "old", n: 1}, nil); err != nil {
		t.Fatal(err)
	}
	before := gittest.Contents(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Write(ctx, dir, fixture{words: "new", n: 50}, func(pages int) {
		if pages == 20 {
			cancel()
		}
	})
	if err == nil {
		t.Fatal("it went on")
	}
	for name, page := range gittest.Contents(t, dir) {
		if before[name] != page {
			t.Errorf("%s was changed", name)
		}
	}
	if beside, _ := os.ReadDir(filepath.Dir(dir)); len(beside) != 1 {
		t.Errorf("left beside it: %v", beside)
	}
}
