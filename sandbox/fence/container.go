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
	"git-ward/protocols/record"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// Paths inside the fence.
const (
	InsideBare    = "/mnt/remote" // the repository, read-only
	InsideState   = "/bot"        // the agent's directory, the one volume
	InsideBin     = "/ward/bin"   // Ward's own programs
	InsideDoor    = InsideDoorDir + "/" + SocketName
	InsideGateway = InsideGatewayDir + "/" + SocketName

	InsideDoorDir    = "/ward/door"
	InsideGatewayDir = "/ward/gateway"
	InsideWatcherDir = "/ward/watcher" // the watcher's door
	InsideConfigDir  = "/ward/config"
	insideGo         = "/usr/local/go"
	insidePrograms   = "/ward/programs" // [sandbox] programs

	SocketName = "sock" // of the door's and of the gateway's socket in its directory
)

// The names of Ward's programs in the binary directory.
const (
	AgentProgram     = "ward-agent"
	WatcherProgram   = "ward-watcher" // starts the agent
	WardProgram      = "git-ward"     // on the host only
	ForwarderProgram = "ward-inside"  // is the first process of both
)

// StopGrace is how long a payload may take to end after SIGTERM.
const StopGrace = 5 * time.Second

// KillGrace is how much longer than its own time a container may run before podman itself
// kills it, in case no process of Ward's is left to do so.
const KillGrace = time.Minute

// Container is one for a command of a user's, the watcher or the agent, with the
// repository, read-only, and the Go toolchain, and nothing that leads out of it but what
// the policy lets pass. The first process is the watcher's user in all of them: the agent's
// commands can do nothing to it.
func (f *Fence) Container(bare string, settings *config.Config, user int) *podman.Spec {
	b := settings.Sandbox
	s := &podman.Spec{
		First: []string{InsideBin + "/" + ForwarderProgram},
		Image: f.image, Dir: InsideState, User: userID(image.WatcherID), Hostname: "ward",
		// The capabilities that the first process needs to start and end a command as another
		// user, and the watcher to do the same with the agent. Nothing that they start keeps
		// them (SBX-3).
		Caps: []string{"SETUID", "SETGID", "KILL"},
		Env: map[string]string{
			"PATH": InsideBin + ":" + insideGo + "/bin:/usr/local/bin:/usr/bin:/bin", "HOME": InsideState, "LANG": "C.UTF-8",
			"GIT_AUTHOR_NAME": record.AgentName, "GIT_AUTHOR_EMAIL": record.AgentMail,
			"GIT_COMMITTER_NAME": record.AgentName, "GIT_COMMITTER_EMAIL": record.AgentMail,
		},
		NoNewPrivileges: true, ReadOnlyRoot: true,
		Network: podman.NetworkPublic, DNS: f.Policy.Resolvers,
		Limits: podman.Limits{Processes: b.Processes, Memory: b.Memory, CPUs: b.CPUs, Files: uint64(b.Files)},
		Mounts: []podman.Mount{
			ReadOnly(filepath.Dir(f.inside), InsideBin),
			ReadOnly(bare, InsideBare),
			ReadOnly(f.cover, InsideBare+"/ward"),
			ReadOnly(f.cover, InsideBare+"/hooks"),
			{Kind: podman.Tmpfs, Target: "/tmp", Size: b.TmpSize},
		},
	}
	if user != image.WatcherID {
		s.First = append(s.First, "--user", strconv.Itoa(user))
	}
	f.proveFirst(s)
	for _, dir := range otherHooks(bare) {
		s.Mounts = append(s.Mounts, ReadOnly(f.cover, InsideBare+"/"+dir))
	}
	if f.Policy.Mode == firewall.Allowlist {
		s.Network, s.DNS = podman.NetworkNone, nil
	}
	if dir := b.Programs; dir != "" {
		s.Mounts = append(s.Mounts, ReadOnly(dir, insidePrograms))
		s.Env["PATH"] = insidePrograms + "/bin:" + insidePrograms + "/node_modules/.bin:" + s.Env["PATH"]
	}
	if f.goRoot != "" {
		s.Mounts = append(s.Mounts, ReadOnly(f.goRoot, insideGo))
	}
	return s
}

// ReadOnly binds a host directory read-only into the fence.
func ReadOnly(source, target string) podman.Mount {
	return podman.Mount{Kind: podman.Bind, Source: source, Target: target, ReadOnly: true}
}

// userID is a user and a group of the same number.
func userID(id int) string { return fmt.Sprintf("%d:%d", id, id) }

// otherHooks are a repository's hook directories besides hooks/: a server's, and the chained
// ones. The host's scripts may hold what nobody inside may read.
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

// CheckReadable checks that the user inside can read the host's directories. The host does not
// know that user, so the permission bits for others count.
func CheckReadable(mounts []podman.Mount) error {
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

// findGo is the host's Go toolchain, which is bound in if there is one: the installed one, not
// one that the current directory's go.mod would download. It is the directory of the program
// go; another GOROOT must be configured.
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
