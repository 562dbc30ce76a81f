package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// systemdRuns reports whether systemd is the machine's first process.
func systemdRuns() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// scopeTime is how long systemd may take to make a scope.
const scopeTime = 5 * time.Second

// joinScope asks systemd (the system's as root, else the user's) to put this process into a
// new scope, as systemd-run --scope does, but without a slow restart of this program. The
// scope ends with its last process.
func joinScope(name string, l Limits) (*Group, error) {
	ctx, cancel := context.WithTimeout(context.Background(), scopeTime)
	defer cancel()
	scope := fmt.Sprintf("%s-%d.scope", name, os.Getpid())
	out, err := exec.CommandContext(ctx, "busctl", scopeCall(scope, os.Geteuid() != 0, l)...).CombinedOutput()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return nil, errors.Join(ErrNone, fmt.Errorf("systemd cannot make a scope: %w: %s", err, first))
	}
	for { // what busctl returns is a job
		at, err := os.ReadFile(self + "/cgroup")
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(at), "/"+scope) {
			return &Group{name: scope}, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: systemd has not made the scope %s in %s", ErrNone, scope, scopeTime)
		case <-time.After(time.Millisecond):
		}
	}
}

// scopeCall is what busctl(1) is told: StartTransientUnit's name, mode, properties, which
// it counts and whose types it wants, and no further units (org.freedesktop.systemd1(5)).
func scopeCall(scope string, user bool, l Limits) []string {
	args := []string{"call", "--quiet"}
	if user {
		args = append(args, "--user")
	}
	args = append(args, "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
		"StartTransientUnit", "ssa(sv)a(sa(sv))", scope, "fail")
	number := func(name string, n int64) []string { return []string{name, "t", strconv.FormatInt(n, 10)} }
	properties := [][]string{
		{"PIDs", "au", "1", strconv.Itoa(os.Getpid())},
		{"CollectMode", "s", "inactive-or-failed"},
		number("CPUWeight", 50),
	}
	if l.Memory > 0 {
		properties = append(properties, number("MemoryMax", l.Memory), number("MemorySwapMax", 0))
	}
	if l.Processes > 0 {
		properties = append(properties, number("TasksMax", l.Processes))
	}
	args = append(args, strconv.Itoa(len(properties)))
	for _, p := range properties {
		args = append(args, p...)
	}
	return append(args, "0")
}
