package podman

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// DefaultRuntime is the one that works under every layout of cgroups, and whose
// containers are what Ward's promises were first tried in.
const DefaultRuntime = "runc"

// ociRuntime is an OCI runtime with the options that the fence needs.
type ociRuntime struct {
	name  string
	flags []string // global options, without the leading dashes
	mend  string   // how it is installed
	// onlyEPERM: it turns every filter refusal into EPERM.
	onlyEPERM bool
	// tooOld is the date of the newest version known to start nothing in a user namespace,
	// which all of Ward's containers use: Debian 12's package.
	tooOld int
}

// ociRuntimes are those that [sandbox] runtime can name.
var ociRuntimes = []ociRuntime{
	{name: DefaultRuntime, mend: "apt-get install runc"},
	{name: "crun", mend: "apt-get install crun"},
	{
		name: "runsc",
		// Its own network stack would take over the interface's addresses and bypass the
		// namespace's rules, which would read back as if they held. With the host's stack,
		// sockets are the namespace's and obey them.
		flags: []string{
			"network=host",
			"host-uds=open", // the door's and gateway's sockets, in read-only mounts
			"oci-seccomp",   // Ward's profile, which gVisor otherwise skips
			"overlay2=none", // only what the Spec says is writable
		},
		onlyEPERM: true,
		mend:      "CGO_ENABLED=0 GOBIN=/usr/local/bin go install gvisor.dev/gvisor/runsc@v0.0.0-20260905035102-160fafc42237",
		tooOld:    20221219,
	},
	{name: "krun", mend: "install crun with libkrun (Fedora: dnf install crun-krun), on a machine with /dev/kvm"},
}

// FindRuntime finds an OCI runtime on the launcher's PATH, which nobody inside a fence can
// change. The error says how to install it.
func FindRuntime(name string) (path string, err error) {
	r, err := runtimeNamed(name)
	if err != nil {
		return "", err
	}
	if path, err = exec.LookPath(r.name); err != nil {
		return "", diag.Hint(fmt.Errorf("the runtime %s is not installed", r.name), "%s; or set [sandbox] runtime to another", r.mend)
	}
	if _, err := os.Stat("/dev/kvm"); r.name == "krun" && err != nil {
		return "", diag.Hint(errors.New("the runtime krun needs /dev/kvm, which is not here"), "use a machine with KVM, or set [sandbox] runtime to another")
	}
	return path, nil
}

// versionDay is the date in a version like "runsc version 0.0~20221219.0" or
// "release-20230102.0".
var versionDay = pattern.New(`\b20[0-9]{6}\b`)

// RuntimeTooOld says that the program at path, of a runtime of that name, is a version that
// starts no container of Ward's, and what mends it. It asks the program; one that does not
// say its day is believed.
func RuntimeTooOld(ctx context.Context, name, path string) error {
	r, err := runtimeNamed(name)
	if err != nil || r.tooOld == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, _ := exec.CommandContext(ctx, path, "--version").Output()
	if day, err := strconv.Atoi(string(versionDay.Regexp().Find(out))); err != nil || day > r.tooOld {
		return nil
	}
	return diag.Hint(fmt.Errorf("the runtime %s is too old: one of %d starts nothing in a user namespace", path, r.tooOld), "%s; or set [sandbox] runtime to another", r.mend)
}

// InstalledRuntime names a runtime that the host has, DefaultRuntime where it can: an image
// is built outside any fence, and any of them will do.
func InstalledRuntime() string {
	for _, r := range ociRuntimes {
		if _, err := FindRuntime(r.name); err == nil {
			return r.name
		}
	}
	return DefaultRuntime
}

func runtimeNamed(name string) (*ociRuntime, error) {
	i := slices.IndexFunc(ociRuntimes, func(r ociRuntime) bool { return r.name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no runtime %q: there are runc, crun, runsc and krun", name)
	}
	return &ociRuntimes[i], nil
}

// args are podman's global arguments that pass a runtime's flags on a machine.
func (r *ociRuntime) args(m *machine) (args []string) {
	flags := r.flags
	if r.name == "runsc" && m.rootless && !m.cgroupV2 {
		// It would make cgroups of its own, which an ordinary user may not, even if podman
		// requests none. request.limits reports limits that are not in force.
		flags = append(flags[:len(flags):len(flags)], "ignore-cgroups")
	}
	for _, f := range flags {
		args = append(args, "--runtime-flag", f)
	}
	return args
}

// Runtime names the runtime of an engine's containers.
func (e *Engine) Runtime() string { return e.opts.Runtime }
