package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/boot"
	"git-ward/sandbox/firewall"
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
	s.Env[boot.UntilVar] = f.untilText()
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
	for _, dir := range otherHooks(f.Bare) {
		s.Mounts = append(s.Mounts, podman.Mount{Kind: podman.Bind, Source: f.empty, Target: insideBare + "/" + dir, ReadOnly: true})
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

// otherHooks are a repository's directories of hooks besides hooks/: a server's,
// and the chained ones. Scripts of the host's may hold what nobody inside may read.
func otherHooks(bare string) (found []string) {
	entries, err := os.ReadDir(bare)
	if err != nil {
		return nil // Check has read it
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && name != "hooks" && (strings.HasSuffix(name, "hooks") || strings.HasSuffix(name, "hooks.chained")) {
			found = append(found, name)
		}
	}
	return found
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
			return diag.Hint(fmt.Errorf("%s cannot be read inside the fence (mode %04o)", m.Source, info.Mode().Perm()), "chmod o+rx %s", m.Source)
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
