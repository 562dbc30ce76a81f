package git

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/tier"
)

// asked is what git itself says of refs and names, through the same package without its own reading.
type asked struct{ *Repo }

func (a asked) refs(t *testing.T, prefix string) (all []Tip) {
	t.Helper()
	out, err := a.Output(t.Context(), "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all = append(all, Tip{name, id})
	}
	return all
}

// named is the id of what a name stands for, "" for nothing.
func named(t *testing.T, b *Batch, name string) string {
	t.Helper()
	o, err := b.Info(name)
	if err != nil && !errors.Is(err, ErrMissing) {
		t.Fatal(err)
	}
	return o.ID
}

// TestDirect holds what is read without git to what git reads, over repositories as they come
// to be: refs that are loose, packed, both, gone, symbolic, of lost objects, or no refs at all,
// and names of commits, trees and files.
func TestDirect(t *testing.T) {
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	r := bare(t)
	ctx := t.Context()
	commits := []string{strings.Repeat("d", 40)} // which the repository has lost
	for i := range 3 {
		batch := r.Batch(ctx)
		tree, err := batch.EditTree("", map[string][]byte{"a": fmt.Append(nil, i), "d/e/f": fmt.Append(nil, i), "odd name": nil})
		if err != nil {
			t.Fatal(err)
		}
		commit, err := r.CommitTree("a <a@b>", tree, "", time.Unix(1, 0), "a commit")
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, commit, tree)
		batch.Close()
	}
	names := []string{"refs/heads/main", "refs/heads/a/b", "refs/heads/a-b", "refs/heads/é", "refs/heads/a.b", "refs/ward/uow/D-1.1", "refs/ward/uow/D-1.2", "refs/ward/uow/x/y", "refs/ward/y"}
	odd := map[string]string{
		"refs/heads/dotted.": commits[1] + "\n", "refs/heads/x.lock": commits[1] + "\n", "refs/heads/.hidden": commits[1] + "\n",
		"refs/ward/uow/garbage": "garbage\n", "refs/ward/uow/zero": Zero + "\n", "refs/ward/uow/empty": "",
		"refs/ward/uow/bare": commits[1], "refs/ward/uow/long": commits[1] + "\nmore\n", "refs/heads/symbolic": "ref: refs/heads/main\n",
	}
	tags := []string{"refs/ward/tag"}
	if _, err := r.Output(ctx, "-c", "user.name=a", "-c", "user.email=a@b", "tag", "--annotate", "--message=a tag", "t", commits[1]); err != nil {
		t.Fatal(err)
	}
	names = append(names, tags...)
	prefixes := []string{"refs/", "refs/heads/", "refs/ward/", "refs/ward/uow/", "refs/ward/uow/D-1.1/", "refs/none/", "refs/heads/a/"}
	for step := range 60 {
		ref := names[random.IntN(len(names))]
		switch random.IntN(8) {
		case 0, 1, 2:
			r.Output(ctx, "update-ref", ref, commits[random.IntN(len(commits)-1)+1]) // git may refuse: a/b beside a
		case 3:
			r.Output(ctx, "update-ref", "-d", ref)
		case 4:
			r.Output(ctx, "pack-refs", "--all", "--prune")
		case 5:
			r.Output(ctx, "repack", "-a", "-d", "-q")
		case 6:
			for name, text := range odd {
				if random.IntN(4) == 0 {
					write(t, filepath.Join(r.Dir, name), text)
				}
			}
			if random.IntN(4) == 0 {
				write(t, filepath.Join(r.Dir, ref), commits[0]+"\n")
			}
		case 7:
			for name := range odd {
				os.Remove(filepath.Join(r.Dir, name))
			}
		}
		prefix := prefixes[random.IntN(len(prefixes))]
		tips, err := r.Refs(ctx, prefix)
		if want := (asked{r}).refs(t, prefix); err != nil || !slices.Equal(tips, want) {
			t.Fatalf("step %d, %s: %v %v\nwant %v", step, prefix, tips, err, want)
		}
		if step%10 != 0 {
			continue
		}
		ours, theirs := r.Batch(ctx), &Batch{ctx: ctx, repo: r}
		for _, name := range append(names, "refs/heads/symbolic", "refs/tags/t", commits[1], commits[0], "HEAD") {
			for _, suffix := range []string{"", "^{commit}", "^{tree}", ":a", ":d", ":d/e/f", ":d/e/none", ":a/b", ":odd name", ":", ":d/", ":d//e"} {
				if id, want := named(t, ours, name+suffix), named(t, theirs, name+suffix); id != want {
					t.Fatalf("step %d, %s: %q, want %q", step, name+suffix, id, want)
				}
			}
		}
		ours.Close()
		theirs.Close()
	}
}

// TestDirectIsNotHeldUp: a pipe in a ref's place, or in an object's, holds nobody up.
func TestDirectIsNotHeldUp(t *testing.T) {
	r := bare(t)
	id := strings.Repeat("a", 40)
	for _, name := range []string{"refs/heads/pipe", "objects/aa/" + id[2:]} {
		path := filepath.Join(r.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), unix.Mkfifo(path, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	d := r.directReader()
	if _, ok, err := d.refs("refs/heads/"); ok || err != nil {
		t.Error("a pipe is a ref", err)
	}
	if _, ok, err := d.ref("refs/heads/pipe"); ok || err != nil {
		t.Error("a pipe is a ref", err)
	}
	if _, ok, err := d.info(id); ok || err != nil {
		t.Error("a pipe is an object", err)
	}
}

// TestPackedRefsMove: packed-refs is kept between two looks, and read anew where git has made
// another one, of the same size too.
func TestPackedRefsMove(t *testing.T) {
	r := bare(t)
	batch := r.Batch(t.Context())
	defer batch.Close()
	const ref = "refs/tags/one"
	for i := range 5 {
		id, err := r.WriteObject("blob", []byte{byte(i)})
		for _, args := range [][]string{{"update-ref", ref, id}, {"pack-refs", "--all", "--prune"}} {
			if err == nil {
				_, err = r.Output(t.Context(), args...)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if tip, err := batch.Tip(ref); tip != id || err != nil {
				t.Errorf("%s is at %q, not %s: %v", ref, tip, id, err)
			}
		}
	}
	kept := strings.Repeat("a", 40)
	batch.direct.packed = []byte(kept + " " + ref + "\n")
	if tip, err := batch.Tip(ref); tip != kept || err != nil {
		t.Errorf("it is read at each look: %q, %v", tip, err)
	}
}

// TestDamagedAndPacked: a loose object that is damaged hides no whole copy in a pack.
func TestDamagedAndPacked(t *testing.T) {
	r := bare(t)
	ctx := t.Context()
	id, err := r.WriteObject("blob", []byte("whole"))
	if err != nil {
		t.Fatal(err)
	}
	alone, err := r.WriteObject("blob", []byte("alone"))
	if err == nil {
		_, err = r.OutputFrom(ctx, []byte(id+"\n"), "pack-objects", "--quiet", filepath.Join(r.Dir, "objects/pack/pack"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{id, alone} {
		path := filepath.Join(r.Dir, "objects", id[:2], id[2:])
		if err := errors.Join(os.Chmod(path, 0o644), os.Truncate(path, 4)); err != nil {
			t.Fatal(err)
		}
	}
	batch := r.Batch(ctx)
	defer batch.Close()
	for range 2 {
		if o, data, err := batch.Read(id, 100); err != nil || string(data) != "whole" || o.Size != 5 {
			t.Errorf("%+v %q %v", o, data, err)
		}
		if o, err := batch.Info(id); err != nil || o.Size != 5 {
			t.Errorf("%+v %v", o, err)
		}
		if _, _, err := batch.Read(alone, 100); !errors.Is(err, ErrDamaged) {
			t.Errorf("one without a copy: %v", err)
		}
	}
}

// TestDirectElsewhere: in a linked work tree refs are elsewhere, and git is asked.
func TestDirectElsewhere(t *testing.T) {
	r := bare(t)
	write(t, filepath.Join(r.Dir, "commondir"), "../r.git\n")
	if r.directReader() != nil {
		t.Error("refs of a linked work tree are read from its own directory")
	}
	gone := Open(r.Dir + "-gone")
	if tips, err := gone.Refs(t.Context(), "refs/heads/"); err == nil {
		t.Errorf("no repository has the refs %v", tips)
	}
	if id, err := gone.Ref(t.Context(), "refs/heads/main"); err == nil {
		t.Errorf("no repository has a ref at %q", id)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		os.WriteFile(path, []byte(text), 0o644) // where a directory is in the way, there is none
	}
}

// TestSymbolicRefs: what names another ref is symbolic to each that asks, a link like a file, however
// git takes the latter to be written; and HEAD likewise.
func TestSymbolicRefs(t *testing.T) {
	r := bare(t)
	dir := filepath.Join(r.Dir, "refs/heads")
	write(t, filepath.Join(dir, "plain"), strings.Repeat("a", 40)+"\n")
	write(t, filepath.Join(dir, "spaces"), "ref:\t refs/heads/plain \n")
	write(t, filepath.Join(dir, "half"), "ref")
	for name, to := range map[string]string{filepath.Join(dir, "away"): "refs/heads/plain", filepath.Join(dir, "beside"): "plain"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	broken, symbolic, err := r.OddRefs()
	want := []Symbolic{{"refs/heads/away", "refs/heads/plain"}, {"refs/heads/beside", "plain"}, {"refs/heads/spaces", "refs/heads/plain"}}
	if err != nil || !slices.Equal(broken, []string{"refs/heads/half"}) || !slices.Equal(symbolic, want) {
		t.Error(broken, symbolic, err)
	}
	for _, s := range want {
		if to, err := r.Leads(s.Name); err != nil || to != s.To {
			t.Error(s.Name, to, err)
		}
	}
	for _, name := range []string{"refs/heads/plain", "refs/heads/half", "refs/heads/none"} {
		if to, err := r.Leads(name); err != nil || to != "" {
			t.Error(name, to, err)
		}
	}
	write(t, filepath.Join(r.Dir, "HEAD"), "ref:\trefs/heads/plain\n")
	if id, ok, err := r.directReader().find("HEAD"); err != nil || !ok || id != strings.Repeat("a", 40) {
		t.Error(id, ok, err)
	}
}
