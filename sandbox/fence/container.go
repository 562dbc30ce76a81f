package fence

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// Where things are inside the fence.
const (
	InsideBare    = "/mnt/remote" // the repository, read-only
	InsideState   = "/bot"        // the agent's directory, the one volume
	InsideBin     = "/ward/bin"   // Ward's own programs
	InsideDoor    = insideDoorDir + "/" + socketName
	InsideGateway = insideGatewayDir + "/" + socketName

	insideDoorDir    = "/ward/door"
	insideGatewayDir = "/ward/gateway"
	insideWatcherDir = "/ward/watcher" // the watcher's door
	insideConfigDir  = "/ward/config"
	insideGo         = "/usr/local/go"
	insidePrograms   = "/ward/programs" // [sandbox] programs

	socketName = "sock" // of the door's and of the gateway's socket in its directory
)

// The names of Ward's programs in the directory of binaries.
const (
	AgentProgram     = "ward-agent"
	WatcherProgram   = "ward-watcher" // starts the agent
	WardProgram      = "git-ward"     // on the host only
	ForwarderProgram = "ward-inside"  // runs in front of both
)

// killGrace is how much longer than its own time a container may run before podman itself
// kills it: nobody of Ward's is there any more.
const killGrace = time.Minute

// container is the whole of the container that a launch wants (SBX-3, SBX-4).
func (w *worker) container(f *fence) *podman.Spec {
	size := w.spec.Settings.Sandbox.StateSize
	state := podman.Mount{Kind: podman.Disk, Source: stateDisk(w.state), Target: InsideState, Size: size, Owner: image.WatcherID}
	if f.engine.Rootless() { // an ordinary user cannot mount a file system
		state = podman.Mount{Kind: podman.Tmpfs, Target: InsideState, Size: size}
	}
	user := image.AgentID
	if len(w.payload.Command) == 0 {
		user = image.WatcherID
	}
	s := f.container(w.spec.Bare, w.spec.Settings, user)
	s.Command, s.Stdin = w.commandLine(), w.payload.Stdin != nil
	s.First = append(s.First, w.gatewayFlags()...)
	s.Timeout = time.Until(w.until) + w.spec.Settings.Budget.Grace.Duration + killGrace
	s.Env[boot.UntilVar] = w.untilText()
	if len(w.payload.Command) == 0 {
		s.Env[boot.LiveVar], s.Env[boot.LeaseVar] = "1", w.only
	}
	s.Mounts = append(s.Mounts,
		readOnly(filepath.Dir(w.door), insideDoorDir),
		readOnly(filepath.Dir(w.gateway), insideGatewayDir),
		readOnly(filepath.Dir(configCopy(w.spec.State)), insideConfigDir),
		state)
	return s
}

// container is one for a command of a user's, the watcher or the agent, with the
// repository, read-only, and the Go toolchain, and nothing that leads out of it but what
// the policy lets pass. The first process is the watcher's user in all of them: the agent's
// commands can do nothing to it.
func (f *fence) container(bare string, settings *config.Config, user int) *podman.Spec {
	b := settings.Sandbox
	s := &podman.Spec{
		First: []string{InsideBin + "/" + ForwarderProgram},
		Image: f.image, Dir: InsideState, User: userID(image.WatcherID), Hostname: "ward",
		// What the first process needs to start a command as another user and to end it, and
		// the watcher the agent; nothing that they start so has them (SBX-3).
		Caps: []string{"SETUID", "SETGID", "KILL"},
		Env: map[string]string{
			"PATH": InsideBin + ":" + insideGo + "/bin:/usr/local/bin:/usr/bin:/bin", "HOME": InsideState, "LANG": "C.UTF-8",
			"GIT_AUTHOR_NAME": "Ward Agent", "GIT_AUTHOR_EMAIL": "agent@ward",
			"GIT_COMMITTER_NAME": "Ward Agent", "GIT_COMMITTER_EMAIL": "agent@ward",
		},
		NoNewPrivileges: true, ReadOnlyRoot: true,
		Network: podman.NetworkPublic, DNS: f.policy.Resolvers,
		Limits: podman.Limits{Processes: b.Processes, Memory: b.Memory, CPUs: b.CPUs, Files: uint64(b.Files)},
		Mounts: []podman.Mount{
			readOnly(filepath.Dir(f.inside), InsideBin),
			readOnly(bare, InsideBare),
			readOnly(f.cover, InsideBare+"/ward"),
			readOnly(f.cover, InsideBare+"/hooks"),
			{Kind: podman.Tmpfs, Target: "/tmp", Size: b.TmpSize},
		},
	}
	if user != image.WatcherID {
		s.First = append(s.First, "--user", strconv.Itoa(user))
	}
	f.proveFirst(s)
	for _, dir := range otherHooks(bare) {
		s.Mounts = append(s.Mounts, readOnly(f.cover, InsideBare+"/"+dir))
	}
	if f.policy.Mode == firewall.Allowlist {
		s.Network, s.DNS = podman.NetworkNone, nil
	}
	if dir := b.Programs; dir != "" {
		s.Mounts = append(s.Mounts, readOnly(dir, insidePrograms))
		s.Env["PATH"] = insidePrograms + "/bin:" + insidePrograms + "/node_modules/.bin:" + s.Env["PATH"]
	}
	if f.goRoot != "" {
		s.Mounts = append(s.Mounts, readOnly(f.goRoot, insideGo))
	}
	return s
}

// readOnly binds a directory of the host's into the fence.
func readOnly(source, target string) podman.Mount {
	return podman.Mount{Kind: podman.Bind, Source: source, Target: target, ReadOnly: true}
}

// userID is a user with a group of the same number.
func userID(id int) string { return fmt.Sprintf("%d:%d", id, id) }

// otherHooks are a repository's directories of hooks besides hooks/: a server's,
// and the chained ones. Scripts of the host's may hold what nobody inside may read.
func otherHooks(bare string) (found []string) {
	entries, err := os.ReadDir(bare)
	if err != nil {
		return nil // door.Check has read it
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && name != "hooks" && (strings.HasSuffix(name, "hooks") || strings.HasSuffix(name, "hooks.chained")) {
			found = append(found, name)
		}
	}
	return found
}

// checkReadable makes sure of what the user inside needs of the host's directories:
// inside, it is nobody whom the host knows, so the bits for others count.
func checkReadable(mounts []podman.Mount) error {
	for _, m := range mounts {
		if m.Kind != podman.Bind {
			continue
		}
		info, err := os.Stat(m.Source)
		if err != nil && m.Target == insidePrograms {
			return diag.Hint(fmt.Errorf("[sandbox] programs: %w", err), "name a directory of this host, or \"\" for none")
		}
		if err != nil {
			return err
		}
		if info.Mode()&0o005 != 0o005 {
			return diag.Hint(fmt.Errorf("%s cannot be read inside the fence (mode %04o)", m.Source, info.Mode().Perm()), "chmod o+rx %s", m.Source)
		}
	}
	return nil
}

// gatewayFlags lead the first process to the gateway.
func (w *worker) gatewayFlags() []string {
	flags := []string{"--gateway", InsideGateway}
	if w.policy.Mode == firewall.Allowlist {
		flags = append(flags, "--proxy")
	}
	return flags
}

// commandLine is what runs inside: the watcher or the user's own command.
func (w *worker) commandLine() []string {
	if command := w.payload.Command; len(command) > 0 {
		return command
	}
	args := []string{InsideBin + "/" + WatcherProgram, "--agent", InsideBin + "/" + AgentProgram, "--agent-user", strconv.Itoa(image.AgentID),
		"--bare", InsideBare, "--state", InsideState, "--door", InsideDoor,
		"--config", insideConfigDir + "/" + filepath.Base(configCopy(w.spec.State)), "--model", w.payload.Model}
	if w.watcher != nil && knowsWatcher(w.spec.Settings) {
		args = append(args, "--report-door", insideWatcherDir+"/"+socketName)
	}
	return append(args, w.whatFor()...)
}

// whatFor is what the watcher is told of how long it works, and on what.
func (w *worker) whatFor() (args []string) {
	if w.payload.Once {
		args = append(args, "--once")
	}
	if w.payload.Reset {
		args = append(args, "--reset")
	}
	if w.only != "" {
		args = append(args, "--directive", w.only)
	}
	return args
}

// findGo is the host's Go toolchain, bound in where there is one: the installed
// one, whatever the directory that this runs in would like to fetch. It is where the
// program go lies; one that lies elsewhere, or somebody's own GOROOT, is asked for.
func findGo() string {
	if at, err := exec.LookPath("go"); err == nil && os.Getenv("GOROOT") == "" {
		if at, err = filepath.EvalSymlinks(at); err == nil {
			root := filepath.Dir(filepath.Dir(at))
			if info, err := os.Stat(filepath.Join(root, "pkg/tool")); err == nil && info.IsDir() {
				return root
			}
		}
	}
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
