package image

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/internal/glob"
	"git-ward/internal/scratch"
)

// Store keeps images; podman.Engine is one.
type Store interface {
	// Dir is the images' directory. A builder locks it, so that two concurrent builders make
	// one image.
	Dir(ctx context.Context) (string, error)
	HasImage(ctx context.Context, name string) (bool, error)
	ImportImage(ctx context.Context, name string, tar *os.File, changes []string) error
	BuildImage(ctx context.Context, name, from, containerfile string, progress io.Writer) error
	// Sweep removes what killed builders left in the store; the caller holds the lock.
	Sweep(ctx context.Context) (int, error)
}

// Options configure a build.
type Options struct {
	Recipe   Recipe
	Force    bool      // rebuild with today's packages even if the image exists
	Cache    string    // directory for finished archives; empty: none is kept
	Progress io.Writer // one line per stage
}

// alone calls build if the image is not there or Force is set, with a directory for it. No other
// process builds meanwhile, and what killed builders left is gone.
func (o *Options) alone(ctx context.Context, store Store, name string, build func(work *scratch.Dir) error) (err error) {
	done := func() (bool, error) {
		there, err := store.HasImage(ctx, name)
		return there && !o.Force, err
	}
	if done, err := done(); done || err != nil {
		return err
	}
	where, err := store.Dir(ctx)
	if err != nil {
		return err
	}
	images, err := o.lock(ctx, where)
	if err != nil {
		return err
	}
	defer images.Close()
	if done, err := done(); done || err != nil { // by another process
		return err
	}
	if _, err := store.Sweep(ctx); err != nil {
		return err
	}
	work, err := newWork()
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, work.Remove())
		scratch.Sweep(filepath.Dir(work.Path)) // another builder's; doctor reports leftovers
	}()
	return build(work)
}

// lock is the lock of a directory, once another build is done with it: patience is that of the person
// who waits, and is told why.
func (o *Options) lock(ctx context.Context, dir string) (*os.File, error) {
	f, err := flock.Within(ctx, dir, flock.Exclusive, 0)
	if !errors.Is(err, flock.ErrHeld) {
		return f, err
	}
	f.Close()
	o.say("another build is at work in %s, and this one waits for it", diag.Word(dir))
	return flock.Within(ctx, dir, flock.Exclusive, math.MaxInt64)
}

// Build makes the image if it does not exist, and returns its name. If another build is
// running, it waits for it and uses its result. A killed build leaves nothing that passes for
// complete, and the next build removes its leftovers.
func Build(ctx context.Context, store Store, o Options) (name string, err error) {
	if err := o.Recipe.Complete(); err != nil {
		return "", err
	}
	name = o.Recipe.Name()
	return name, o.alone(ctx, store, name, func(work *scratch.Dir) (err error) {
		start := time.Now()
		if o.Recipe.From != "" {
			err = o.fromRegistry(ctx, store, name, work.Path)
		} else {
			err = o.fromDebian(ctx, store, name, work.Path, work.Lock)
		}
		if err == nil {
			o.say("%s is there after %.0f s", name, time.Since(start).Seconds())
		}
		return err
	})
}

func (o *Options) say(format string, args ...any) {
	if o.Progress != nil {
		fmt.Fprintf(o.Progress, "image: "+format+"\n", args...)
	}
}

// fromDebian builds in dir, whose lock its children inherit.
func (o *Options) fromDebian(ctx context.Context, store Store, name, dir string, lock *os.File) error {
	archive := filepath.Join(dir, "image.tar")
	if o.Cache == "" {
		if err := o.bootstrap(ctx, archive, dir, lock); err != nil {
			return err
		}
	} else {
		archive = filepath.Join(o.Cache, strings.NewReplacer("/", "_", ":", "_").Replace(name)+".tar")
		if err := o.cached(ctx, archive, dir, lock); err != nil {
			return err
		}
	}
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	o.say("importing it")
	return store.ImportImage(ctx, name, f, o.Recipe.Lines())
}

// newArchive is the prefix of an unfinished archive.
const newArchive = ".new-"

// cached makes an archive if it is missing: one process at a time, under a temporary name that
// is renamed when it is complete and synced.
func (o *Options) cached(ctx context.Context, archive, dir string, lock *os.File) error {
	cache, err := o.lock(ctx, o.Cache)
	if err != nil {
		return err
	}
	defer cache.Close()
	if _, err := os.Stat(archive); err == nil && !o.Force {
		return nil
	}
	// We hold the lock, so these are left from killed builds.
	left, err := glob.Below(o.Cache, newArchive+"*")
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(o.Cache, newArchive+"*.tar")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	if err := o.bootstrap(ctx, temp.Name(), dir, lock, cache); err != nil {
		return err
	}
	if err := errors.Join(temp.Chmod(0o644), temp.Sync(), os.Rename(temp.Name(), archive)); err != nil {
		return err
	}
	return atomicfile.SyncDir(o.Cache)
}

// bootstrap writes the archive. Its programs inherit the locks and work below dir. If they are
// killed, it is swept, but not before they have ended.
func (o *Options) bootstrap(ctx context.Context, archive, dir string, locks ...*os.File) error {
	mmdebstrap, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return diag.Hint(errors.New("mmdebstrap is not there, which makes an image from Debian packages"),
			"apt-get install mmdebstrap, or name a base image with --from")
	}
	sources, err := sourceFiles("/etc/apt")
	if err != nil {
		return err
	}
	o.say("Debian %s with %s, from this machine's package sources", o.Recipe.Suite, strings.Join(o.Recipe.packages(), ", "))
	cmd := exec.CommandContext(ctx, mmdebstrap, o.arguments(archive, sources)...)
	cmd.Stdin = nil
	cmd.ExtraFiles = locks
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	// mmdebstrap tidies up on SIGTERM, and is terminated when we end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return o.stages(cmd)
}

// grace is how long the builder has to tidy up when it is asked to end.
const grace = 10 * time.Second

func (o *Options) arguments(archive string, sources []string) []string {
	mode := "unshare"
	if os.Geteuid() == 0 {
		mode = "root"
	}
	args := []string{"--mode=" + mode, "--variant=minbase", "--format=tar",
		"--include=" + strings.Join(o.Recipe.packages(), ","),
		// As text, because an ordinary user's namespace may not be able to read the user's
		// files.
		"--customize-hook=" + customize}
	for _, dir := range []string{"doc", "man", "info", "locale"} {
		args = append(args, "--dpkgopt=path-exclude=/usr/share/"+dir+"/*")
	}
	return append(append(args, o.Recipe.Suite, archive), sources...)
}

// sourceFiles are the machine's package sources, passed as file names, because an address in
// them may hold a password.
func sourceFiles(apt string) ([]string, error) {
	var files []string
	for _, pattern := range []string{"sources.list", "sources.list.d/*.list", "sources.list.d/*.sources"} {
		found, err := glob.Below(apt, pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			data, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			if len(bytes.TrimSpace(data)) > 0 {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no package sources below %s", apt)
	}
	return files, nil
}

// stages runs mmdebstrap and passes on its progress messages; on failure also the last of its
// other output.
func (o *Options) stages(cmd *exec.Cmd) error {
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	// The parent-death signal follows the thread that starts the child (prctl(2)).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	var last []string
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if stage, ok := strings.CutPrefix(line, "I: "); ok && strings.HasSuffix(stage, "...") {
			o.say("%s", stage)
		}
		if last = append(last, line); len(last) > 20 {
			last = last[1:]
		}
	}
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("mmdebstrap: %w:\n%s", err, strings.Join(last, "\n"))
	}
	return nil
}

// needs refuses an image in which no agent could work: without it the launch would, after the wait
// for the container, and once for each worker.
const needs = `for p in bash git; do command -v $p >/dev/null || { echo "the image has no $p" >&2; exit 1; }; done`

func (o *Options) fromRegistry(ctx context.Context, store Store, name, dir string) error {
	without := "true" // an image without apt-get may have what Ward itself needs
	if asked := slices.DeleteFunc(slices.Clone(o.Recipe.Packages), func(p string) bool { return slices.Contains(podPackages, p) }); len(asked) > 0 {
		without = "{ echo 'the image has no apt-get to install " + strings.Join(asked, " ") + "' >&2; exit 1; }"
	}
	lines := []string{
		"FROM " + o.Recipe.From,
		"USER 0:0",
		"COPY customize.sh /tmp/customize.sh",
		"RUN if command -v apt-get >/dev/null; then apt-get update -q && apt-get install -q -y --no-install-recommends " +
			strings.Join(o.Recipe.packages(), " ") + "; else " + without + "; fi && " + needs + " && sh /tmp/customize.sh && rm /tmp/customize.sh",
	}
	text := strings.Join(append(lines, o.Recipe.Lines()...), "\n") + "\n"
	containerfile := filepath.Join(dir, "Containerfile")
	if err := errors.Join(
		os.WriteFile(containerfile, []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "customize.sh"), []byte(customize), 0o644),
	); err != nil {
		return err
	}
	o.say("on top of %s", o.Recipe.From)
	if err := store.BuildImage(ctx, name, o.Recipe.From, containerfile, o.Progress); err != nil {
		return diag.Hint(fmt.Errorf("an image on top of %s: %w", o.Recipe.From, err), "a base needs sh, bash and git, or sh and an apt-get that can install them; whatever else it was is said above")
	}
	return nil
}
