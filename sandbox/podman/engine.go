// Package podman makes, runs and removes one kind of container through podman's
// bindings: Ward's. What a container may be is a Spec, and what it may not be is
// Spec.Check; rules for its network namespace are somebody else's job, for which
// there is time between Container.Init and Container.Start.
//
// The bindings need build tags (scripts/build sets them). Without them all of
// this compiles, and Connect says what is missing.
package podman

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ward/internal/pattern"
	"git-ward/internal/scratch"
)

// Labels of every container: whose it is, over restarts of the launcher, and
// which Engine made it.
const (
	labelOwner = "git-ward.owner"
	labelRun   = "git-ward.run"
)

// namePrefix begins every container's name; the run and a number follow.
const namePrefix = "git-ward-"

// Options say which podman to use.
type Options struct {
	Owner   string       // the containers' owner, which Sweep uses
	Podman  string       // the program for the service; empty: from PATH
	Runtime string       // of [sandbox] runtime's; empty: DefaultRuntime
	Storage string       // a directory for images and containers; empty: the user's own
	Log     io.Writer    // what the private service says; nil: nowhere
	Scratch *scratch.Dir // directory to remove if this process is killed; nil: none
	Builds  bool         // it may build images
}

// Engine is a connection to podman. Its methods may be called at the same time.
type Engine struct {
	api     api
	machine machine
	opts    Options
	run     string // this engine's name, which begins with the owner
	service *service

	mu         sync.Mutex
	containers map[*Container]bool // made and not yet removed
	made       int
	half       bool // an image build has begun and not finished
}

// api is the part of podman's API that Ward uses.
type api interface {
	// storage is the directory of images and containers. It takes its time (0.3 s: podman asks the
	// package manager who made each of its helpers).
	storage(context.Context) (string, error)
	create(context.Context, *request) (id string, warnings []string, err error)
	init(ctx context.Context, id string) error
	start(ctx context.Context, id string) error
	attach(ctx context.Context, id string, s Streams, ready func()) error
	wait(ctx context.Context, id string) (int, error)
	stop(ctx context.Context, id string, seconds uint) error
	remove(ctx context.Context, id string) error
	inspect(ctx context.Context, id string) (State, error)
	// list lists the containers with a label and, if is is not nil, those known only to the
	// storage, which have no labels, by name.
	list(ctx context.Context, label string, is func(names []string) bool) (ids []string, err error)

	makeVolume(ctx context.Context, name, label string, options map[string]string) error
	// volumes are by name the runs that made them.
	volumes(ctx context.Context) (map[string]string, error)
	removeVolume(ctx context.Context, name string) error

	hasImage(ctx context.Context, name string) (bool, error)
	imageID(ctx context.Context, name string) (string, error)
	imageLabels(ctx context.Context, name string) (map[string]string, error)
	importImage(ctx context.Context, name string, tar io.Reader, changes []string) error
	// buildImage builds on an image, which it pulls if missing, under a second name.
	buildImage(ctx context.Context, name, from, by, containerfile string, progress io.Writer) error
	imageNames(ctx context.Context) ([]string, error)
	untagImage(ctx context.Context, name string) error
}

// ErrNoBindings is Connect's answer in a program that was built without the
// bindings.
var ErrNoBindings = errors.New("this program was built without podman's bindings")

// Connect starts podman as a service of this process's own, which ends with it.
func Connect(ctx context.Context, o Options) (_ *Engine, err error) {
	if o.Owner == "" {
		return nil, errors.New("podman: Options.Owner is empty: nobody would find its containers again")
	}
	o.Runtime = cmp.Or(o.Runtime, DefaultRuntime)
	e := &Engine{opts: o, run: o.Owner + "-" + strings.ToLower(rand.Text()), containers: map[*Container]bool{}}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	if e.machine, err = inspectHost(); err != nil {
		return nil, err
	}
	if e.service, err = startService(ctx, &o, &e.machine, e.run); err != nil {
		return nil, err
	}
	if e.api, err = e.dial(ctx, e.service.socket); err != nil {
		return nil, err
	}
	go e.endLives()
	return e, nil
}

// TempDir is a private directory for this engine's user. It is removed with the engine,
// however that ends.
func (e *Engine) TempDir() string { return e.service.dir.Path }

// endLives ends the containers of a dead service: nothing else can, and the reaper that would
// remove them may be dead, too.
func (e *Engine) endLives() {
	<-e.Done()
	for _, c := range e.live() {
		c.life.end()
	}
}

// dial connects; if a private service ended, the error says why.
func (e *Engine) dial(ctx context.Context, socket string) (api, error) {
	a, err := dial(ctx, socket)
	if err != nil && e.service != nil {
		err = errors.Join(err, e.service.ended())
	}
	return a, err
}

// Done is closed when the private service has ended, asked or not: a launcher
// without it can neither see nor stop its container.
func (e *Engine) Done() <-chan struct{} { return e.service.reaper.told }

// Sweep removes what earlier launchers of the same owner left behind, and
// returns how many containers that were. The caller must be the only launcher
// of the owner.
func (e *Engine) Sweep(ctx context.Context) (int, error) {
	ids, err := e.left(ctx)
	if err != nil {
		return 0, fmt.Errorf("podman does not list containers: %w", err)
	}
	n := 0
	for _, id := range ids {
		if e.owns(id) {
			continue
		}
		// If launcher, reaper and service were killed while the runtime made it, podman does
		// not know that it has a process.
		e.service.what.inUserNS(e.service.what.Runtime, "delete", "--force", id)
		removeCgroups(id)
		if rmErr := e.api.remove(ctx, id); rmErr != nil {
			err = errors.Join(err, fmt.Errorf("container %.12s stays: %w", id, rmErr))
			continue
		}
		n++
	}
	if err == nil { // podman 4.3 deadlocks when it removes a volume in use
		err = e.sweepVolumes(ctx)
	}
	if err == nil && e.opts.Builds {
		err = e.sweepBuilds(ctx)
	}
	removeNetworks()
	return n, err
}

// buildName is a second name of a build's base image. buildah derives the build container's
// name from it, which has no labels; so it begins like the run's other names.
func buildName(run string) string { return "localhost/" + namePrefix + run + "-build:from" }

// sweepBuilds removes such names that are left.
func (e *Engine) sweepBuilds(ctx context.Context) error {
	names, err := e.api.imageNames(ctx)
	for _, name := range names {
		if run, ok := strings.CutPrefix(name, "localhost/"+namePrefix); ok && name != buildName(e.run) && e.earlier("", "-build:from").MatchString(run) {
			err = errors.Join(err, e.api.untagImage(ctx, name))
		}
	}
	return err
}

// earlier matches names of this owner's runs, not those of an owner with a longer name.
func (e *Engine) earlier(before, after string) *regexp.Regexp {
	return regexp.MustCompile("^" + regexp.QuoteMeta(before+e.opts.Owner) + "-[A-Za-z2-7]+" + after + "$")
}

// sweepVolumes removes earlier launchers' volumes.
func (e *Engine) sweepVolumes(ctx context.Context) error {
	names, err := e.leftVolumes(ctx)
	for _, name := range names {
		if rmErr := e.api.removeVolume(ctx, name); rmErr != nil {
			err = errors.Join(err, fmt.Errorf("the volume %s stays: %w", name, rmErr))
		}
	}
	if err == nil {
		return nil
	}
	if names, again := e.leftVolumes(ctx); again == nil && len(names) == 0 {
		return nil // a killed launcher's reaper was faster
	}
	return err
}

func (e *Engine) leftVolumes(ctx context.Context) (names []string, err error) {
	all, err := e.api.volumes(ctx)
	if err != nil {
		return nil, fmt.Errorf("podman does not list volumes: %w", err)
	}
	run := e.earlier("", "")
	for name, by := range all {
		if by != e.run && run.MatchString(by) {
			names = append(names, name)
		}
	}
	return names, nil
}

// broken is the container that podman cannot list.
var broken = pattern.New(`\b[0-9a-f]{64}\b`)

// left lists earlier launchers' containers. If one's network namespace is gone because its
// whole launch was killed, podman lists none of this owner's until that one is removed, which
// succeeds at the second try.
func (e *Engine) left(ctx context.Context) (ids []string, err error) {
	mine, tried := labelOwner+"="+e.opts.Owner, map[string]int{}
	for {
		// Only these, or the named container could be another owner's.
		_, err := e.api.list(ctx, mine, nil)
		if err == nil {
			break
		}
		id := broken.Regexp().FindString(err.Error())
		if tried[id]++; id == "" || tried[id] > 2 || ctx.Err() != nil {
			return nil, err
		}
		e.api.remove(ctx, id)
	}
	// If podman was killed while it made one, that is known only to the storage, without
	// labels.
	run := e.earlier(namePrefix, "-([0-9]+|build-working-container(-[0-9]+)?)")
	ids, err = e.api.list(ctx, mine, func(names []string) bool { return slices.ContainsFunc(names, run.MatchString) })
	ids = append(ids, slices.Collect(maps.Keys(tried))...)
	slices.Sort(ids)
	return slices.Compact(ids), err // half-removed ones are in the storage, too
}

func (e *Engine) owns(id string) bool {
	return slices.ContainsFunc(e.live(), func(c *Container) bool { return c.ID == id })
}

func (e *Engine) live() []*Container {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []*Container
	for c := range e.containers {
		all = append(all, c)
	}
	return all
}

// Close removes the containers that this engine made and ends its service.
func (e *Engine) Close() error {
	var errs []error
	for _, c := range e.live() {
		errs = append(errs, c.Remove(context.Background()))
	}
	err := errors.Join(errs...)
	if e.service == nil {
		return err
	}
	e.mu.Lock()
	half := e.half
	e.mu.Unlock()
	return errors.Join(err, e.service.stop(!half && err == nil && e.service.ended() == nil))
}

// explain gives the cause of an API error: the end of a private service. The connection breaks
// a moment before that is known.
func (e *Engine) explain(err error) error {
	if err == nil || e.service == nil {
		return err
	}
	select {
	case <-e.service.reaper.told:
		return e.service.ended()
	case <-time.After(100 * time.Millisecond):
		return err
	}
}

// Dir is the directory where podman keeps images and containers.
func (e *Engine) Dir(ctx context.Context) (string, error) {
	dir, err := e.api.storage(ctx)
	if err != nil {
		return "", fmt.Errorf("podman does not say where it keeps images: %w", err)
	}
	return dir, nil
}

// HasImage reports whether the image exists locally; it pulls nothing.
func (e *Engine) HasImage(ctx context.Context, name string) (bool, error) {
	return e.api.hasImage(ctx, name)
}

// ImageID is the hash by which podman knows the image that has a name now.
func (e *Engine) ImageID(ctx context.Context, name string) (string, error) {
	return e.api.imageID(ctx, name)
}

// ImageLabels are the labels of the image that has a name now.
func (e *Engine) ImageLabels(ctx context.Context, name string) (map[string]string, error) {
	return e.api.imageLabels(ctx, name)
}

// ImportImage makes an image of one layer from a tar archive of a file system.
// Changes are lines of a Containerfile (ENV, CMD, ...).
func (e *Engine) ImportImage(ctx context.Context, name string, tar *os.File, changes []string) error {
	if err := e.api.importImage(ctx, name, tar, changes); err != nil {
		return fmt.Errorf("podman does not import the image %s: %w", name, err)
	}
	return nil
}

// BuildImage makes an image on another from a Containerfile, whose directory is the context, and
// whose FROM does not count. Progress goes to w. Where a build is stopped midway, Close, the reaper
// or the next Sweep removes what it left.
func (e *Engine) BuildImage(ctx context.Context, name, from, containerfile string, w io.Writer) error {
	if !e.opts.Builds {
		return errors.New("podman: Options.Builds is not set: nobody would find what a build leaves")
	}
	e.building(true)
	if err := e.api.buildImage(ctx, name, from, buildName(e.run), containerfile, w); err != nil {
		return fmt.Errorf("podman does not build the image %s: %w", name, err)
	}
	e.building(false)
	return nil
}

func (e *Engine) building(half bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.half = half
}
