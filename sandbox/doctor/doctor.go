// Package doctor examines a machine and says what a fence needs and lacks, each with the
// command that mends it (SBX-5). It changes nothing, except that it removes leftovers of
// killed Ward programs from the temporary directory, as every Ward program does.
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/config"
	"git-ward/internal/scratch"
	"git-ward/sandbox/doctor/finding"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// State and Finding are what a check ends in.
type (
	State   = finding.State
	Finding = finding.Finding
)

// The states.
const (
	Fine    = finding.Fine
	Warning = finding.Warning
	Missing = finding.Missing
)

// Examine checks everything for the user who runs it.
func Examine(ctx context.Context) []Finding {
	e := &examiner{ctx: ctx, root: os.Geteuid() == 0, name: fmt.Sprint(os.Geteuid())}
	if u, err := user.Current(); err == nil {
		e.name = u.Username
	}
	e.programs()
	e.podman()
	e.cgroups()
	e.hostWork()
	e.nftables()
	if !e.root {
		e.rootless()
	}
	e.leftovers()
	e.program("go", Warning, "apt-get install golang-go", "bound into the fence when the host has one; without it the agent cannot build Go")
	return e.found
}

// leftovers reports files of killed Ward programs in the temporary directory that no Ward
// program of this user can remove. They stop nothing.
func (e *examiner) leftovers() {
	if err := scratch.Sweep(os.TempDir()); err != nil {
		e.add("temporary directory", Warning, "see what is in it, and remove it", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

type examiner struct {
	ctx   context.Context
	root  bool
	name  string // the user's
	found []Finding
}

func (e *examiner) add(thing string, s State, mend, format string, args ...any) {
	if s == Fine {
		mend = ""
	}
	e.found = append(e.found, Finding{Thing: thing, State: s, Detail: fmt.Sprintf(format, args...), Mend: mend})
}

// sudo prefixes a command that an ordinary user cannot run.
func (e *examiner) sudo(command string) string {
	if e.root {
		return command
	}
	return "sudo " + command
}

// output runs a short command and returns its stdout; the error has its stderr.
func (e *examiner) output(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(e.ctx, 15*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		first, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		err = fmt.Errorf("%w: %s", err, first)
	}
	return strings.TrimSpace(string(out)), err
}

func (e *examiner) program(name string, without State, mend, why string) bool {
	path, err := exec.LookPath(name)
	if err != nil {
		e.add(name, without, e.sudo(mend), "%s is not installed: %s", name, why)
		return false
	}
	e.add(name, Fine, "", "%s", path)
	return true
}

func (e *examiner) programs() {
	e.program("git", Missing, "apt-get install git", "everything goes through it")
	e.program("nsenter", Missing, "apt-get install util-linux", "rules enter a rootless container's namespace with it")
	e.program("mmdebstrap", Warning, "apt-get install mmdebstrap", "builds the image without a registry")
}

func (e *examiner) podman() {
	if !e.program("podman", Missing, "apt-get install podman", "it makes the containers") {
		return
	}
	networks, err := podman.Networks(os.Getenv)
	if err != nil {
		e.add("podman's settings", Missing, "mend the line, or remove the file", "%v", err)
		return
	}
	text, err := e.output("podman", append(podman.DriverArgs(), "info", "--format", "json")...)
	var info podmanInfo
	if err == nil {
		err = json.Unmarshal([]byte(text), &info)
	}
	if err != nil {
		mend := "podman system migrate"
		switch backend := networks.Network.Backend; {
		case backend != "" && backend != podman.Netavark && backend != podman.CNI:
			mend = "set [network] network_backend in containers.conf to netavark or cni"
		case e.root && backend != "" && len(networks.Lacks(backend)) > 0:
			mend = packagesOf(backend)
		}
		e.add("podman info", Missing, mend, "podman does not start: %v", err)
		return
	}
	if major, _, _ := strings.Cut(info.Version.Version, "."); len(major) == 1 && major < "4" {
		e.add("podman info", Missing, "install podman 4 or newer (Debian 12, Ubuntu 24.04)", "version %s is too old: Ward asks it by an API that is newer", info.Version.Version)
		return
	}
	e.add("podman info", Fine, "", "version %s, cgroups %s, rootless %t", info.Version.Version, info.Host.Cgroups, info.Host.Security.Rootless)
	if info.Store.Driver == "vfs" {
		e.add("storage", Warning, "podman system reset # removes every image and container of "+e.name, "the storage driver vfs copies the whole image for every container")
	} else {
		e.add("storage", Fine, "", "%s", info.Store.Driver)
	}
	if e.root { // rootless containers use slirp4netns as their network
		e.network(info.Host.Network, &networks)
	}
	e.image()
}

// podmanInfo is the part of `podman info` that is read.
type podmanInfo struct {
	Host struct {
		Cgroups  string `json:"cgroupVersion"`
		Network  string `json:"networkBackend"`
		Security struct {
			Rootless bool `json:"rootless"`
		} `json:"security"`
	} `json:"host"`
	Store struct {
		Driver string `json:"graphDriverName"`
	} `json:"store"`
	Version struct {
		Version string `json:"Version"`
	} `json:"version"`
}

// cgroups says which limits take effect: podman without root ignores them silently on cgroups
// v1.
func (e *examiner) cgroups() {
	var fs unix.Statfs_t
	err := unix.Statfs("/sys/fs/cgroup", &fs)
	v2 := err == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC
	switch {
	case v2:
		e.add("cgroups", Fine, "", "version 2: memory and process limits hold")
	case e.root:
		e.add("cgroups", Fine, "", "version 1 or hybrid: limits hold for root")
	default:
		e.add("cgroups", Warning, "boot with systemd.unified_cgroup_hierarchy=1",
			"version 1 or hybrid: a rootless container's memory and process limits are ignored")
	}
}

// nftables tries the kernel's nftables in a network namespace of its own.
func (e *examiner) nftables() {
	args := []string{"--net"}
	if !e.root {
		args = append(args, "--user", "--map-root-user")
	}
	if _, err := exec.LookPath("nft"); err != nil {
		e.add("nftables", Warning, e.sudo("apt-get install nftables"), "the program nft is only needed to look at rules; the kernel was not tried")
		return
	}
	if _, err := e.output("unshare", append(args, "nft", "add", "table", "inet", "ward_doctor")...); err != nil {
		e.add("nftables", Missing, e.sudo("modprobe nf_tables"), "the kernel takes no rules: %v", err)
		return
	}
	e.add("nftables", Fine, "", "the kernel takes rules in a new namespace")
}

// rootless checks what an ordinary user's containers need.
func (e *examiner) rootless() {
	e.program("slirp4netns", Missing, "apt-get install slirp4netns", "a rootless container's network")
	e.program("newuidmap", Missing, "apt-get install uidmap", "a rootless container's users")
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		if data, _ := os.ReadFile(file); strings.Contains("\n"+string(data), "\n"+e.name+":") {
			e.add(file, Fine, "", "has a range for %s", e.name)
		} else {
			from := freeIDs(string(data))
			e.add(file, Missing, fmt.Sprintf("sudo usermod --add-%ss %d-%d %s", filepath.Base(file), from, from+1<<16-1, e.name), "has no range for %s", e.name)
		}
	}
	switch err := unix.Access("/dev/net/tun", unix.R_OK|unix.W_OK); {
	case err == nil:
		e.add("/dev/net/tun", Fine, "", "can be opened")
	case errors.Is(err, unix.ENOENT):
		e.add("/dev/net/tun", Missing, "sudo modprobe tun", "is not there: a rootless container's network ends in it")
	default:
		e.add("/dev/net/tun", Missing, "sudo chmod 0666 /dev/net/tun", "cannot be opened (%v): a rootless container's network ends in it", err)
	}
	e.runtimeDir()
}

// freeIDs is the first free subordinate id, above all ranges of others (subuid(5):
// name:first:count).
func freeIDs(table string) int {
	free := 100_000 // SUB_UID_MIN of login.defs(5)
	for line := range strings.Lines(table) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 3 {
			continue
		}
		first, err := strconv.Atoi(fields[1])
		if count, countErr := strconv.Atoi(fields[2]); err == nil && countErr == nil {
			free = max(free, first+count)
		}
	}
	return free
}

// runtimeDir is the directory for sockets, whose paths must be short (unix(7)).
func (e *examiner) runtimeDir() {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	var st unix.Stat_t
	switch err := unix.Stat(dir, &st); {
	case dir == "":
		e.add("XDG_RUNTIME_DIR", Warning, "sudo loginctl enable-linger "+e.name+" # and log in again", "is not set; the temporary directory is used for sockets")
	case err != nil || st.Uid != uint32(os.Geteuid()):
		e.add("XDG_RUNTIME_DIR", Warning, "unset XDG_RUNTIME_DIR", "%s is not a directory of yours", dir)
	default:
		e.add("XDG_RUNTIME_DIR", Fine, "", "%s", dir)
	}
}

// image checks the image that launch uses by default.
func (e *examiner) image() {
	var recipe image.Recipe
	if err := recipe.Complete(); err != nil {
		e.add("image", Warning, "git ward image build --from IMAGE", "no image of Debian packages here: %v", err)
		return
	}
	if !e.hasImage(recipe.Name()) {
		e.add("image", Warning, "git ward image build", "%s is not there yet", recipe.Name())
		return
	}
	e.add("image", Fine, "", "%s", recipe.Name())
}

func (e *examiner) hasImage(name string) bool {
	_, err := e.output("podman", append(podman.DriverArgs(), "image", "exists", name)...)
	return err == nil
}

// Sandbox checks the images and programs that a repository's settings name for its containers.
// Examine reports a missing podman.
func Sandbox(ctx context.Context, c *config.Config) []Finding {
	e := &examiner{ctx: ctx}
	for _, i := range []struct{ key, name string }{{"[sandbox] image", c.Sandbox.Image}, {"[verify] second_image", c.Verify.SecondImage}} {
		switch {
		case i.name == "":
		case e.hasImage(i.name):
			e.add(i.key, Fine, "", "%s", i.name)
		default:
			e.add(i.key, Missing, "podman build -t "+i.name+" ..., or another name", "%s is not among this user's images", i.name)
		}
	}
	if dir := c.Sandbox.Programs; dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
			e.add("[sandbox] programs", Missing, "npm install --prefix DIR PACKAGE, and its absolute path", "%s is no directory of this host", dir)
		} else {
			e.add("[sandbox] programs", Fine, "", "%s", dir)
		}
	}
	return e.found
}
