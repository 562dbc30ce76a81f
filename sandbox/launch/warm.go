package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"git-ward/internal/git"
	"git-ward/internal/pattern"
	"git-ward/protocols/boot"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/host"
	"git-ward/sandbox/podman"
)

// warm are containers that a launch prepares for its next directives (ONE-2): created,
// initialized, with rules installed and sockets made. Nothing of Ward's or an agent's runs in
// them, and their sockets are not served. Binding one to a directive adds what depends on it:
// the assignment's file, the slot's disk, and the services under its name.
type warm struct {
	engine *containers
	size   int
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	count  int // that were begun
	all    []*ahead
	ending sync.WaitGroup
}

// ahead is a prepared container, complete when done is closed.
type ahead struct {
	*made
	worker   *worker
	services []service // open, and served once bound
	disk     string    // a new file, which becomes the slot's once bound
	key      string
	done     chan struct{}
	err      error
}

// warmName matches warmDisk's names.
var warmName = pattern.New(`^warm[0-9]+\.img$`)

// newWarm removes what a killed launch left and makes none yet. Only the default runtime's
// containers see files that the host adds to a mounted directory at once.
func (c *containers) newWarm(ctx context.Context) *warm {
	left, _ := os.ReadDir(c.launch.spec.State) // a missing directory has no leftovers
	for _, file := range left {
		if warmName.MatchString(file.Name()) {
			os.Remove(filepath.Join(c.launch.spec.State, file.Name()))
		}
	}
	size := c.launch.spec.Settings.Launch.Warm
	if size == 0 || len(c.launch.spec.Payload.Command) > 0 || c.launch.spec.Settings.Sandbox.Runtime != podman.DefaultRuntime {
		return nil
	}
	k := &warm{engine: c, size: size}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return k
}

// warmDisk is the /bot file of a prepared container.
func (s *Spec) warmDisk(number string) string {
	return filepath.Join(s.State, "warm"+number+".img")
}

// fill starts to make missing ones.
func (k *warm) fill() {
	if k == nil || k.engine.launch.host == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.all) < k.size && k.ctx.Err() == nil {
		k.count++
		a := &ahead{disk: k.engine.launch.spec.warmDisk(fmt.Sprint(k.count)), done: make(chan struct{})}
		a.worker = &worker{launch: k.engine.launch, site: k.engine, payload: k.engine.launch.spec.Payload, ahead: a}
		k.all = append(k.all, a)
		go func() {
			defer close(a.done)
			a.err = k.make(a)
		}()
	}
}

// make makes one.
func (k *warm) make(a *ahead) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, a.discard(k.ctx))
		}
	}()
	w := a.worker
	for _, open := range []opener{w.openDoor, w.openWatcherDoor, w.openGateway} {
		s, err := open()
		if err != nil {
			return err
		}
		a.services = append(a.services, s)
	}
	if a.made, err = k.engine.make(k.ctx, w, podman.Streams{Stdout: later(func() io.Writer { return w.payload.Stdout }), Stderr: later(func() io.Writer { return w.payload.Stderr })}); err != nil {
		return err
	}
	a.key, err = k.keyOf(a)
	return err
}

// later is a writer whose target is set before the first write.
type later func() io.Writer

func (l later) Write(p []byte) (int, error) { return l().Write(p) }

// keyOf identifies what a prepared container was made from: its spec, the image, the host's
// routes, and the programs of main and of the last good list. Of main it only has the program,
// because each new directive moves the branch.
func (k *warm) keyOf(a *ahead) (string, error) {
	w, l := a.worker, k.engine.launch
	spec := w.container(a.fence)
	spec.Timeout = 0 // until the launch's end, whenever that was computed
	image, err := a.conn.Engine.ImageID(k.ctx, a.conn.Image)
	if err != nil {
		return "", err
	}
	_, routes, err := firewall.HostFacts(k.ctx)
	if err != nil {
		return "", err
	}
	routes = slices.DeleteFunc(routes, func(p netip.Prefix) bool { return p.Addr().IsLinkLocalUnicast() || p.Addr().IsMulticast() }) // a container's virtual interface has such
	slices.SortFunc(routes, func(a, b netip.Prefix) int { return a.Compare(b) })
	program, err := l.lastGood().Program(k.ctx, l.spec.Settings.Control.ProjectRef())
	if err != nil {
		return "", err
	}
	more := []string{image, fmt.Sprint(slices.Compact(routes)), program}
	repo := git.Open(l.spec.Bare)
	for _, ref := range append(boot.GoodRefs(), boot.Fallen) {
		id, err := repo.Ref(k.ctx, ref)
		if err != nil {
			return "", err
		}
		more = append(more, id)
	}
	return fence.Key(spec, more...), nil
}

func (c *containers) prepare() { c.warm.fill() }

// prepared is a worker with a prepared container, if one matches what would be made now, its
// rules still read back as this moment's, and the directive has no disk of its own, which
// cannot be mounted later.
func (c *containers) prepared(ctx context.Context, j *host.Job) *worker {
	k := c.warm
	if k == nil || c.launch.spec.ownsDisk(c.launch.spec.disk(c.launch.spec.workerState(j.Number)), j.Directive) {
		return nil
	}
	k.mu.Lock()
	if len(k.all) == 0 {
		k.mu.Unlock()
		return nil
	}
	a := k.all[0]
	k.all = k.all[1:]
	k.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		k.discard(a)
		return nil
	}
	if a.err != nil {
		c.launch.log.Warn().Err(a.err).Msg("no container can be prepared")
		return nil
	}
	held := make(chan error, 1)
	go func() { held <- a.Holds(ctx) }()
	key, err := k.keyOf(a)
	if err = errors.Join(<-held, err); err == nil && key != a.key {
		err = errors.New("one that were made now would be another")
	}
	if err != nil {
		c.launch.log.Info().Err(err).Str("container", a.id[:12]).Msg("a prepared container is thrown away")
		k.discard(a)
		return nil
	}
	c.launch.log.Info().Str("container", a.id[:12]).Str("directive", j.Directive).Msg("a prepared container is bound")
	return a.worker
}

// opens are a worker's host services: with a prepared container, those that are open already.
func (c *containers) opens(w *worker) (all []opener, err error) {
	if all, err = c.here.opens(w); w.ahead == nil {
		return all, err
	}
	if err != nil {
		c.warm.discard(w.ahead)
		return nil, err
	}
	w.said.Gateway = w.gateway
	w.Troubles(nil) // the slot's earlier ones
	for i, s := range w.ahead.services {
		all[i] = func() (service, error) { return s, nil }
	}
	return all, nil
}

// giveDisk moves the new disk to the slot's path.
func (a *ahead) giveDisk() error {
	if a.fence.Engine.Rootless() { // it is in memory
		return nil
	}
	w := a.worker
	return os.Rename(a.disk, w.launch.spec.disk(w.state))
}

// disk is the path of the /bot file.
func (w *worker) disk() string {
	if w.ahead != nil {
		return w.ahead.disk
	}
	return w.launch.spec.disk(w.state)
}

// discard removes an unused one in the background.
func (k *warm) discard(a *ahead) {
	k.ending.Go(func() {
		if <-a.done; a.err != nil {
			return
		}
		if err := a.discard(k.ctx); err != nil {
			k.engine.launch.log.Error().Err(err).Msg("a prepared container did not end cleanly")
		}
	})
}

// discard removes it with its disk and its unserved sockets.
func (a *ahead) discard(ctx context.Context) (err error) {
	if a.made != nil {
		err = a.made.close(ctx)
	}
	over, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	for _, s := range a.services {
		err = errors.Join(err, s.serve(over))
	}
	if removed := os.Remove(a.disk); !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// close removes all that are left, and waits for that.
func (k *warm) close() {
	if k == nil {
		return
	}
	k.cancel() // of one being made
	k.mu.Lock()
	all := k.all
	k.all = nil
	k.mu.Unlock()
	for _, a := range all {
		k.discard(a)
	}
	k.ending.Wait()
}
