package podman

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"git-ward/internal/diag"
)

// DefaultRuntime is the one that works under every layout of cgroups, and whose
// containers are what Ward's promises were first tried in.
const DefaultRuntime = "runc"

// ociRuntime is what makes containers' processes for podman, and what it has to be told
// so that the fence holds it too.
type ociRuntime struct {
	name  string
	flags []string // global ones, without the leading dashes
	mend  string   // how it is installed
	// onlyEPERM: whatever number a filter's refusal has, it becomes that one.
	onlyEPERM bool
}

// ociRuntimes are those that [sandbox] runtime can name.
var ociRuntimes = []ociRuntime{
	{name: DefaultRuntime, mend: "apt-get install runc"},
	{name: "crun", mend: "apt-get install crun"},
	{
		name: "runsc",
		// Its own network stack takes the interface's addresses for itself and speaks past
		// the namespace's rules, which read back as if they held. With the host's, a call
		// of a socket is one of the namespace's, and meets them.
		flags: []string{
			"network=host",
			"host-uds=open", // the door's and the gateway's sockets, in mounts that are read-only
			"oci-seccomp",   // Ward's profile, which gVisor leaves out otherwise
			"overlay2=none", // nothing is written but what the Spec says
		},
		onlyEPERM: true,
		mend:      "apt-get install runsc, or a newer one: CGO_ENABLED=0 GOBIN=/usr/local/bin go install gvisor.dev/gvisor/runsc@v0.0.0-20260905035102-160fafc42237",
	},
	{name: "krun", mend: "install crun with libkrun (Fedora: dnf install crun-krun), on a machine with /dev/kvm"},
}

// FindRuntime is where the host has an OCI runtime: on the launcher's own PATH, which
// nobody inside a fence can change. Its error tells how to install it.
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

// args are podman's global arguments that lead a runtime's flags to it.
func (r *ociRuntime) args() (args []string) {
	for _, f := range r.flags {
		args = append(args, "--runtime-flag", f)
	}
	return args
}

// Runtime names the runtime of an engine's containers.
func (e *Engine) Runtime() string { return e.opts.Runtime }
