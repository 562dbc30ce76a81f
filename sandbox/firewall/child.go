package firewall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// request is a child's standard input.
type request struct {
	Policy *Policy `json:"policy,omitempty"`
	Extent extent  `json:"extent,omitempty"`
	// Outside is the caller's own network namespace. A child that finds itself still there has
	// not entered the container's, and must not change anything.
	Outside string `json:"outside"`
}

// reply is a child's standard output. A child without a reply has done nothing.
type reply struct {
	Ruleset Ruleset `json:"ruleset"`
}

// maxRequest bounds what a child reads; a policy within maxHost is smaller.
const maxRequest = 16 << 20

// Child is the hidden command that Target.Child names. It runs inside the container's user and
// network namespaces, installs the policy from stdin, and writes the kernel's resulting rules
// to stdout. The caller compares them.
func Child(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	var req request
	dec := json.NewDecoder(io.LimitReader(stdin, maxRequest))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil {
		return fmt.Errorf("the firewall's request: %w", err)
	}
	own, err := ownNetNS()
	if err != nil {
		return err
	}
	if req.Outside == "" || req.Outside == own {
		return errors.New("the firewall's child is in the host's own network namespace: nothing was changed")
	}
	if (req.Policy == nil) != (req.Extent == nothing) {
		return errors.New("the firewall's child is told a policy and how much of it, or neither: nothing was changed")
	}
	got, err := work(ctx, 0, req.Policy, req.Extent)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(reply{got})
}

// nsGetOwner is ioctl_ns(2)'s NS_GET_USERNS, which x/sys does not have.
const nsGetOwner = 0xb701

// viaChild runs Child in the target and in the user namespace that owns it: only
// there has an ordinary user CAP_NET_ADMIN over it.
func (t Target) viaChild(ctx context.Context, ns *os.File, p *Policy, how extent) (Ruleset, error) {
	if len(t.Child) == 0 {
		return nil, errors.New("an ordinary user needs a child to enter the container's namespaces, and none is set")
	}
	fd, err := unix.IoctlRetInt(int(ns.Fd()), nsGetOwner)
	if err != nil {
		return nil, fmt.Errorf("the container's user namespace: %w", err)
	}
	owner := os.NewFile(uintptr(fd), "user namespace")
	defer owner.Close()
	// Passed as a descriptor, because the file may have been replaced since this program
	// started.
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	defer self.Close()
	own, err := ownNetNS()
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(request{p, how, own})
	if err != nil {
		return nil, err
	}
	return nsenter(ctx, []*os.File{owner, ns, self}, t.Child, input)
}

// nsenter starts the third file in the namespaces of the first two.
func nsenter(ctx context.Context, files []*os.File, args []string, input []byte) (Ruleset, error) {
	// Descriptors 3, 4 and 5 are the files. The credentials stay, because the right comes from
	// owning the namespace, not from being a mapped root.
	line := append([]string{"--user=/proc/self/fd/3", "--net=/proc/self/fd/4", "--preserve-credentials", "--", "/proc/self/fd/5"}, args...)
	ctx, cancel := context.WithDeadline(ctx, deadline(ctx))
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", line...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	cmd.ExtraFiles = files
	cmd.Stdin = bytes.NewReader(input)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, diag.Hint(err, "`apt-get install util-linux` brings nsenter")
	}
	if err != nil {
		return nil, fmt.Errorf("inside the container's namespaces: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var r reply
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || r.Ruleset == nil {
		return nil, fmt.Errorf("the child in the container's namespaces gave no answer: %q", stdout.String())
	}
	return r.Ruleset, nil
}
