package firewall

import (
	"context"
	"fmt"
	"os"

	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// Target is a network namespace to fence, never the caller's own.
type Target struct {
	// NetNS is its file: `/proc/PID/ns/net` of the container's first process, or
	// a bind mount like those in /run/netns.
	NetNS string
	// Child is the command line after this program's own name that runs Child. Ordinary users
	// need it: a program with threads cannot join the target's user namespace, so another
	// process does the work there.
	Child []string
}

// place replaces all of Ward's rules in the target by a policy, in one batch; on an error the
// old rules stay. Then it reads the rules back from the kernel. A difference is an error, and
// the container must not start. It returns the target's namespace.
func (t Target) place(ctx context.Context, p Policy) (*os.File, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	ns, err := t.open()
	if err != nil {
		return nil, fmt.Errorf("firewall: %w", err)
	}
	if err := t.put(ctx, ns, p, whole); err != nil {
		ns.Close()
		return nil, fmt.Errorf("firewall: %w", err)
	}
	return ns, nil
}

// ReadBack reads the rules of a target from the kernel, and compares them with a policy.
func (t Target) ReadBack(ctx context.Context, p Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	ns, err := t.open()
	if err != nil {
		return fmt.Errorf("firewall: %w", err)
	}
	defer ns.Close()
	if err := t.put(ctx, ns, p, nothing); err != nil {
		return fmt.Errorf("firewall: %w", err)
	}
	return nil
}

// extent is how much of a policy is written.
type extent string

const (
	nothing extent = ""        // only read back
	whole   extent = "whole"   // replace everything
	changed extent = "changed" // only the sets that follow the host; the rest must match
)

// put writes a policy, reads it back and compares.
func (t Target) put(ctx context.Context, ns *os.File, p Policy, how extent) error {
	got, err := t.run(ctx, ns, &p, how)
	if err != nil {
		return err
	}
	return Compare(p, got)
}

// run writes that extent of the policy and reads it back.
func (t Target) run(ctx context.Context, ns *os.File, p *Policy, how extent) (Ruleset, error) {
	if os.Geteuid() != 0 {
		return t.viaChild(ctx, ns, p, how)
	}
	return work(ctx, int(ns.Fd()), p, how)
}

// work runs where the caller has the rights; netns 0 is its own namespace.
func work(ctx context.Context, netns int, p *Policy, how extent) (Ruleset, error) {
	if how != nothing {
		prog, err := compile(*p)
		if err != nil {
			return nil, err
		}
		parts := queue
		if how == changed {
			parts = queueChanges
		}
		if err := enforce(ctx, netns, prog, parts); err != nil {
			return nil, err
		}
	}
	return read(ctx, netns)
}

// nsGetType is ioctl_ns(2)'s NS_GET_NSTYPE, which x/sys does not have.
const nsGetType = 0xb703

// open opens the namespace once, so that all steps use the same one even if the process ends
// and its number is used again.
func (t Target) open() (*os.File, error) {
	ns, err := os.Open(t.NetNS)
	if err != nil {
		return nil, diag.Hint(err, "the container's first process has ended, or belongs to another user")
	}
	if kind, err := unix.IoctlRetInt(int(ns.Fd()), nsGetType); err != nil || kind != unix.CLONE_NEWNET {
		ns.Close()
		return nil, fmt.Errorf("%s is not a network namespace", t.NetNS)
	}
	own, err := ownNetNS()
	if err == nil {
		var other string
		if other, err = identity(ns); err == nil && own == other {
			err = fmt.Errorf("%s is the host's own network namespace: Ward fences containers only", t.NetNS)
		}
	}
	if err != nil {
		ns.Close()
		return nil, err
	}
	return ns, nil
}

// identity names a namespace: two files of one have the same device and inode.
func identity(ns *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(ns.Fd()), &st); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), nil
}

func ownNetNS() (string, error) {
	ns, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return "", err
	}
	defer ns.Close()
	return identity(ns)
}
