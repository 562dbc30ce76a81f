package image_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// builderVar makes of the test binary a process that builds an image: in it are
// the directory of images and that of finished archives, which may be empty.
const builderVar = "WARD_TEST_BUILDER"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == podman.ReaperVerb { // of the engines that tests start
		if err := podman.Reap(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if where := os.Getenv(builderVar); where != "" {
		images, cache, _ := strings.Cut(where, "\n")
		_, err := image.Build(context.Background(), files(images), image.Options{Recipe: image.Recipe{Suite: "bookworm"}, Cache: cache})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// files is a directory as a store: an image is a file in it.
type files string

func (f files) path(name string) string {
	return filepath.Join(string(f), strings.ReplaceAll(name, "/", "_"))
}
func (f files) Dir(context.Context) (string, error) { return string(f), nil }
func (f files) HasImage(_ context.Context, name string) (bool, error) {
	_, err := os.Stat(f.path(name))
	return err == nil, nil
}
func (f files) ImportImage(_ context.Context, name string, tar *os.File, _ []string) error {
	data, err := io.ReadAll(tar)
	if err == nil {
		err = os.WriteFile(f.path(name), data, 0o600)
	}
	return err
}
func (files) BuildImage(context.Context, string, string, string, io.Writer) error {
	return errors.New("built")
}
func (files) Sweep(context.Context) (int, error) { return 0, nil }

// whole is what the quick builder of these tests makes, in two pieces.
const whole = "the first half\nthe second half\n"

// quickBuilder stands where mmdebstrap does: it notes that it ran, works in
// TMPDIR, and writes the archive slowly; where a file "stuck" is, never to the end,
// and where "deaf" is, it does not end when it is asked to.
const quickBuilder = `#!/bin/sh
for a; do case $a in *.tar) archive=$a ;; esac; done
echo run >>"$BUILDER/runs"
mkdir "$TMPDIR/mmdebstrap.$$"
[ ! -e "$BUILDER/deaf" ] || trap '' TERM
echo "the first half" >"$archive"
if [ -e "$BUILDER/stuck" ]; then
	echo half >"$BUILDER/half"
	exec sleep 3
fi
sleep 0.3
echo "the second half" >>"$archive"
rmdir "$TMPDIR/mmdebstrap.$$"
`

// bench is a machine with the quick builder and directories of its own.
type bench struct {
	t                    *testing.T
	builder, temp, cache string
}

func newBench(t *testing.T) *bench {
	b := &bench{t, t.TempDir(), t.TempDir(), t.TempDir()}
	gittest.Program(t, filepath.Join(b.builder, "mmdebstrap"), quickBuilder)
	return b
}

// start begins a build for a store, in a process of its own.
func (b *bench) start(images, cache string) (*exec.Cmd, *bytes.Buffer) {
	b.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), builderVar+"="+images+"\n"+cache, "BUILDER="+b.builder, "TMPDIR="+b.temp,
		"PATH="+b.builder+":"+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	return cmd, &said
}

// flag sets or takes away one of the builder's files.
func (b *bench) flag(name string, on bool) {
	path := filepath.Join(b.builder, name)
	os.Remove(path)
	if on {
		os.WriteFile(path, nil, 0o600)
	}
}

func (b *bench) runs() int {
	data, _ := os.ReadFile(filepath.Join(b.builder, "runs"))
	return strings.Count(string(data), "\n")
}

// good wants a store to have one whole image.
func (b *bench) good(images string) {
	b.t.Helper()
	found, _ := os.ReadDir(images)
	if len(found) != 1 {
		b.t.Fatalf("%d images", len(found))
	}
	if data, _ := os.ReadFile(filepath.Join(images, found[0].Name())); string(data) != whole {
		b.t.Errorf("the image is %q", data)
	}
}

// clean wants nothing but whole archives.
func (b *bench) clean(archives int) {
	b.t.Helper()
	kept, _ := os.ReadDir(b.cache)
	for _, f := range kept {
		if data, _ := os.ReadFile(filepath.Join(b.cache, f.Name())); string(data) != whole {
			b.t.Errorf("%s in the cache is %q", f.Name(), data)
		}
	}
	if left, _ := os.ReadDir(b.temp); len(kept) != archives || len(left) > 0 {
		b.t.Errorf("kept %v, left over %v", kept, left)
	}
}

// TestTogether: processes that begin at the same moment, as two test packages or
// two people do, all end with a whole image, which was made once.
func TestTogether(t *testing.T) {
	tier.Full(t, "it builds images in real processes")
	for _, c := range []struct {
		what              string
		oneStore, noCache bool
	}{{"one cache, a store each", false, false}, {"one store, one cache", true, false}, {"one store, no cache", true, true}} {
		t.Run(c.what, func(t *testing.T) {
			b := newBench(t)
			store, cache, archives := t.TempDir(), b.cache, 1
			if c.noCache {
				cache, archives = "", 0
			}
			stores := map[string]bool{}
			var all []*exec.Cmd
			var said []*bytes.Buffer
			for range 6 {
				if !c.oneStore {
					store = t.TempDir()
				}
				stores[store] = true
				cmd, out := b.start(store, cache)
				all, said = append(all, cmd), append(said, out)
			}
			for i, cmd := range all {
				if err := await.Exit(t, cmd); err != nil {
					t.Errorf("%v: %s", err, said[i])
				}
			}
			for store := range stores {
				b.good(store)
			}
			if n := b.runs(); n != 1 {
				t.Errorf("made %d times", n)
			}
			b.clean(archives)
		})
	}
}

// TestKilled: a build that is killed in the middle is nobody's image, and leaves
// nothing behind once the next has run. One whose builder lives on is waited for.
func TestKilled(t *testing.T) {
	tier.Full(t, "it builds images in processes that are killed")
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf %t", deaf), func(t *testing.T) {
			b := newBench(t)
			b.flag("deaf", deaf)
			b.flag("stuck", true)
			store := t.TempDir()
			first, _ := b.start(store, b.cache)
			await.True(t, "half an archive", func() bool {
				_, err := os.Stat(filepath.Join(b.builder, "half"))
				return err == nil
			})
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			await.Exit(t, first)
			b.flag("stuck", false)
			if cmd, said := b.start(store, b.cache); await.Exit(t, cmd) != nil {
				t.Fatal(said)
			}
			b.good(store)
			b.clean(1)
		})
	}
}
