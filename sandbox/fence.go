package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/gateway"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// Where things are inside the fence.
const (
	insideBare    = "/mnt/remote"
	insideState   = "/bot"
	insideBin     = "/ward/bin"
	insideDoor    = "/ward/door"
	insideGateway = "/ward/gateway"
	insideConfig  = "/ward/config"
	insideGo      = "/usr/local/go"
	insideProgs   = "/ward/programs"
)

// FirewallChild is the hidden verb by which an ordinary user's launcher starts
// itself again inside its container's namespaces.
const FirewallChild = "firewall-child"

// fence is one container and what stands beside it.
type fence struct {
	*Spec
	log     zerolog.Logger
	engine  *podman.Engine
	door    string // socket, on the host
	gateway string // socket, on the host
	image   string
	empty   string // an empty directory, to cover others with
	policy  firewall.Policy
}

// runFenced runs the payload in a new container: created, initialized, its
// network namespace given its rules and read back, and only then started
// (SBX-1). Whatever fails, the container is removed. It is started once: an end
// that nobody asked for needs a new launch, fenced anew.
func (s *Spec) runFenced(ctx context.Context, log zerolog.Logger, policy firewall.Policy, door, gateway string) (err error) {
	f := &fence{Spec: s, log: log, policy: policy, door: door, gateway: gateway}
	if err := f.open(ctx, owner(s.Bare)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	spec := f.container()
	if err := readable(spec.Mounts); err != nil {
		return err
	}
	container, err := f.engine.Create(ctx, spec)
	if err != nil {
		return err
	}
	for _, warning := range container.Warnings {
		fmt.Fprintf(s.Stderr, "warning: %s\n", warning)
	}
	return f.run(ctx, container)
}

// open connects to podman, removes what an earlier launcher left under the same
// name, and finds the image. Close what it opened.
func (f *fence) open(ctx context.Context, owner string) (err error) {
	if f.engine, err = podman.Connect(ctx, podman.Options{Owner: owner, Storage: f.Storage, Scratch: f.RuntimeDir}); err != nil {
		return cli.Hint(err, "`git ward doctor` says what this machine lacks")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if _, err := f.engine.Sweep(ctx); err != nil {
		return err
	}
	if err := f.findImage(ctx); err != nil {
		return err
	}
	if f.empty, err = os.MkdirTemp(f.RuntimeDir, "ward-empty-"); err != nil {
		return err
	}
	return os.Chmod(f.empty, 0o555)
}

func (f *fence) close() error {
	err := f.engine.Close()
	if f.empty != "" {
		err = errors.Join(err, os.RemoveAll(f.empty))
	}
	return err
}

// findImage settles which image runs, and that it is there: launch pulls and
// builds nothing.
func (f *fence) findImage(ctx context.Context) error {
	if f.image = f.Settings.Sandbox.Image; f.image == "" {
		var recipe image.Recipe
		if err := recipe.Complete(); err != nil {
			return err
		}
		f.image = recipe.Name()
	}
	there, err := f.engine.HasImage(ctx, f.image)
	if err == nil && !there {
		err = cli.Hint(fmt.Errorf("the image %s is not there", f.image), "`git ward image build` makes it, once")
	}
	return err
}

// owner names a repository's containers over restarts of its launcher.
func owner(bare string) string {
	sum := sha256.Sum256([]byte(bare))
	return fmt.Sprintf("%x", sum[:8])
}

// run takes a created container to its end.
func (f *fence) run(ctx context.Context, c *podman.Container) (err error) {
	defer func() { err = errors.Join(err, c.Remove(context.WithoutCancel(ctx))) }()
	pid, err := c.Init(ctx)
	if err != nil {
		return err
	}
	if err := f.enforce(ctx, pid); err != nil {
		return err
	}
	streams := podman.Streams{Stdin: f.Stdin, Stdout: f.Stdout, Stderr: f.Stderr}
	detached, err := c.Attach(context.WithoutCancel(ctx), streams)
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	// A second start, by whomever, would have a network without rules. Now it has
	// a mount without a source, and fails.
	if err := os.Remove(f.empty); err != nil {
		return err
	}
	f.log.Info().Str("container", c.ID[:12]).Int("pid", pid).Str("egress", string(f.policy.Mode)).Msg("fenced")
	stopped := make(chan struct{})
	defer close(stopped)
	go f.stopWith(ctx, c, stopped)
	code, err := c.Wait(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	podman.Drain(detached)
	if code != 0 {
		return cli.ExitCode(code)
	}
	// podman says 0 of a container that somebody removes while it waits.
	if _, err := c.Inspect(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("the container is gone before its end was seen: %w", err)
	}
	return nil
}

// enforce puts the rules into the network namespace of a container's first
// process and reads them back. The process's own namespace, which Start looks at
// again: the path that podman has for it is a mount that an ordinary user's
// launcher does not see.
func (f *fence) enforce(ctx context.Context, pid int) error {
	target := firewall.Target{NetNS: fmt.Sprintf("/proc/%d/ns/net", pid), Child: []string{FirewallChild}}
	if err := firewall.Apply(ctx, f.policy, target); err != nil {
		return fmt.Errorf("the firewall is not in place, so the container does not start: %w", err)
	}
	return nil
}

// stopWith ends the container when the launch is over. When podman's service is,
// nobody could: then the wait for the container ends, and its engine's Close
// removes it.
func (f *fence) stopWith(ctx context.Context, c *podman.Container, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-f.engine.Done():
		return
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := c.Stop(late, leave); err != nil {
		f.log.Error().Err(err).Msg("the container does not stop")
	}
}

// container is the whole of the container that a launch wants (SBX-3, SBX-4).
func (f *fence) container() *podman.Spec {
	size := f.Settings.Sandbox.StateSize
	state := podman.Mount{Kind: podman.Disk, Source: filepath.Join(f.State, "bot.img"), Target: insideState, Size: size, Owner: image.WatcherID}
	if f.engine.Rootless() { // an ordinary user cannot mount a file system
		state = podman.Mount{Kind: podman.Tmpfs, Target: insideState, Size: size}
	}
	s := f.plain()
	s.Command, s.Stdin = f.payload(), f.Stdin != nil
	s.User, s.Caps = f.user(), f.caps()
	s.Mounts = append(s.Mounts,
		podman.Mount{Kind: podman.Bind, Source: filepath.Dir(f.Agent), Target: insideBin, ReadOnly: true},
		podman.Mount{Kind: podman.Bind, Source: filepath.Dir(f.door), Target: insideDoor, ReadOnly: true},
		podman.Mount{Kind: podman.Bind, Source: filepath.Dir(f.gateway), Target: insideGateway, ReadOnly: true},
		podman.Mount{Kind: podman.Bind, Source: filepath.Dir(f.configCopy()), Target: insideConfig, ReadOnly: true},
		state)
	return s
}

// plain is a container with the repository, read-only, and the Go toolchain, and
// nothing that leads out of it but what the policy lets pass.
func (f *fence) plain() *podman.Spec {
	b := f.Settings.Sandbox
	s := &podman.Spec{
		Image: f.image, Dir: insideState, User: "1000:1000", Hostname: "ward",
		Env: map[string]string{
			"PATH": insideBin + ":" + insideGo + "/bin:/usr/local/bin:/usr/bin:/bin", "HOME": insideState, "LANG": "C.UTF-8",
			"GIT_AUTHOR_NAME": "Ward Agent", "GIT_AUTHOR_EMAIL": "agent@ward",
			"GIT_COMMITTER_NAME": "Ward Agent", "GIT_COMMITTER_EMAIL": "agent@ward",
		},
		NoNewPrivileges: true, ReadOnlyRoot: true,
		Network: podman.NetworkPublic, DNS: f.policy.Resolvers,
		Limits: podman.Limits{Processes: b.Processes, Memory: b.Memory, CPUs: b.CPUs, Files: uint64(b.Files)},
		Mounts: []podman.Mount{
			{Kind: podman.Bind, Source: f.Bare, Target: insideBare, ReadOnly: true},
			{Kind: podman.Bind, Source: f.empty, Target: insideBare + "/ward", ReadOnly: true},
			{Kind: podman.Bind, Source: f.empty, Target: insideBare + "/hooks", ReadOnly: true},
			{Kind: podman.Tmpfs, Target: "/tmp", Size: b.TmpSize},
		},
	}
	if f.policy.Mode == firewall.Allowlist {
		s.Network, s.DNS = podman.NetworkNone, nil
	}
	if dir := b.Programs; dir != "" {
		s.Mounts = append(s.Mounts, podman.Mount{Kind: podman.Bind, Source: dir, Target: insideProgs, ReadOnly: true})
		s.Env["PATH"] = insideProgs + "/bin:" + insideProgs + "/node_modules/.bin:" + s.Env["PATH"]
	}
	if root := goRoot(); root != "" {
		s.Mounts = append(s.Mounts, podman.Mount{Kind: podman.Bind, Source: root, Target: insideGo, ReadOnly: true})
	}
	return s
}

// readable makes sure of what the user inside needs of the host's directories:
// inside, it is nobody whom the host knows, so the bits for others count.
func readable(mounts []podman.Mount) error {
	for _, m := range mounts {
		if m.Kind != podman.Bind {
			continue
		}
		info, err := os.Stat(m.Source)
		if err != nil {
			return err
		}
		if info.Mode()&0o005 != 0o005 {
			return cli.Hint(fmt.Errorf("%s cannot be read inside the fence (mode %04o)", m.Source, info.Mode().Perm()), "chmod o+rx %s", m.Source)
		}
	}
	return nil
}

// user is the watcher's, or the agent's for a command in its place.
func (f *fence) user() string {
	id := image.WatcherID
	if len(f.Command) > 0 {
		id = image.AgentID
	}
	return fmt.Sprintf("%d:%d", id, id)
}

// caps are what the watcher needs to start the agent as another user and to end
// it; nothing that it starts has them (SBX-3).
func (f *fence) caps() []string {
	if len(f.Command) > 0 {
		return nil
	}
	return []string{"SETUID", "SETGID", "KILL"}
}

// payload is the command line inside: the forwarder in front, then the watcher or
// the user's own command.
func (f *fence) payload() []string {
	args := []string{insideBin + "/" + forwarder, "--gateway", insideGateway + "/" + filepath.Base(f.gateway)}
	if f.policy.Mode == firewall.Allowlist {
		args = append(args, "--proxy")
	}
	args = append(args, "--")
	if len(f.Command) > 0 {
		return append(args, f.Command...)
	}
	args = append(args, insideBin+"/"+supervisor, "--agent", insideBin+"/"+program, "--agent-user", strconv.Itoa(image.AgentID),
		"--bare", insideBare, "--state", insideState,
		"--door", insideDoor+"/"+filepath.Base(f.door),
		"--config", insideConfig+"/"+filepath.Base(f.configCopy()), "--model", f.Model)
	if f.Once {
		args = append(args, "--once")
	}
	return args
}

// goRoot is the host's Go toolchain, bound in where there is one: the installed
// one, whatever the directory that this runs in would like to fetch.
func goRoot() string {
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// firewallPolicy is SBX-2 for this machine, as it is now.
func (s *Spec) firewallPolicy(ctx context.Context) (firewall.Policy, error) {
	p := firewall.Policy{Mode: firewall.Mode(s.Settings.Egress.Mode)}
	var err error
	if p.HostAddrs, p.HostRoutes, err = firewall.HostFacts(ctx); err != nil {
		return p, fmt.Errorf("the host's own addresses cannot be read: %w", err)
	}
	if p.Mode == firewall.Public && !s.Unfenced { // a plain process asks as the host does
		if p.Resolvers, err = s.resolvers(); err != nil {
			return p, err
		}
	}
	return p, p.Validate()
}

// resolvers are the configured name servers, or the host's own where a container
// can reach them. A resolver on the host's loopback is not reachable: names do
// not resolve then, and launch says so.
func (s *Spec) resolvers() ([]netip.Addr, error) {
	names := s.Settings.Sandbox.Resolvers
	configured := len(names) > 0
	if !configured {
		data, err := os.ReadFile("/etc/resolv.conf")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "nameserver" {
				names = append(names, fields[1])
			}
		}
	}
	var list []netip.Addr
	for _, name := range names {
		addr, err := netip.ParseAddr(name)
		switch {
		case err != nil && configured:
			return nil, fmt.Errorf("[sandbox] resolvers: %w", err)
		case err != nil || addr.IsLoopback() || addr.Zone() != "":
		default:
			list = append(list, addr)
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Stderr, "warning: no name server that a container can reach; set [sandbox] resolvers")
	}
	return list, nil
}

// openGateway opens the models' way out for a launch.
func (s *Spec) openGateway(p firewall.Policy, log zerolog.Logger) (*gateway.Gateway, error) {
	prices, err := s.prices()
	if err != nil {
		return nil, err
	}
	cost, err := gateway.ParseMoney(s.Settings.Budget.Cost)
	if err != nil {
		return nil, fmt.Errorf("[budget] cost: %w", err)
	}
	m := s.Settings.Model
	anthropic, err := s.provider(m.AnthropicURL, m.AnthropicKeyFile, "ANTHROPIC_API_KEY")
	if err != nil {
		return nil, err
	}
	openai, err := s.provider(m.OpenAIURL, m.OpenAIKeyFile, "OPENAI_API_KEY")
	if err != nil {
		return nil, err
	}
	return gateway.Listen(gateway.Config{
		Dir: s.RuntimeDir, Meter: filepath.Join(s.Bare, "ward/meter.json"),
		Directive: s.payer,
		Budget:    func(string) gateway.Budget { return gateway.Budget{Tokens: s.Settings.Budget.Tokens, Cost: cost} },
		Anthropic: anthropic, OpenAI: openai, Prices: prices,
		Allowlist: p.Mode == firewall.Allowlist, Allow: s.Settings.Egress.Allow, Blocked: p.HostRoutes,
		Log: log,
	})
}

func (s *Spec) prices() (gateway.Prices, error) {
	var table []gateway.PriceSetting
	for _, p := range s.Settings.Prices {
		table = append(table, gateway.PriceSetting{Model: p.Model, Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite})
	}
	prices, err := gateway.NewPrices(table)
	if err != nil {
		return prices, fmt.Errorf("[[prices]]: %w", err)
	}
	return prices, nil
}

// provider reads a key where only the host can: a file, else the launcher's own
// environment.
func (s *Spec) provider(url, keyFile, variable string) (gateway.Provider, error) {
	p := gateway.Provider{BaseURL: url}
	var err error
	if keyFile != "" {
		p.Key, err = gateway.ReadKey(keyFile)
	} else if text := s.Getenv(variable); text != "" {
		p.Key, err = gateway.NewKey(text)
	}
	return p, err
}

// clock ends a launch after [budget] time.
func (s *Spec) clock(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.Settings.Budget.Time.Duration,
		fmt.Errorf("[budget] time, %s, is spent", s.Settings.Budget.Time.Duration))
}
