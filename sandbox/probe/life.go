package probe

import (
	"bytes"
	"context"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// life tries what a container's end depends on (SBX-1).
func life(*Surroundings) []attempt {
	const launcher, watcher = "/ward/life/sock", "/ward/watcher/sock" // the sockets' paths in every container and in the watcher's
	return []attempt{
		{"SBX-1", "another connection to the launcher that the first process holds on to", denied(func() error { return connect(launcher) })},
		{"SBX-1", "read the first process's memory", denied(func() error { return open("/proc/1/mem") })},
		{"SBX-1", "read the first process's environment", denied(func() error {
			_, err := os.ReadFile("/proc/1/environ")
			return err
		})},
		{"SBX-1", "trace the first process", denied(func() error { return unix.PtraceSeize(1) })},
		{"SBX-1", "the first process does not stop", stops},
		{"SBX-1", "take the first process's time on a processor", denied(func() error {
			var all unix.CPUSet
			if err := unix.SchedGetaffinity(1, &all); err != nil {
				return err
			}
			return unix.SchedSetaffinity(1, &all) // a process that may set it can lower it
		})},
		{"SBX-1", "the first process's limits", denied(func() error { return unix.Prlimit(1, unix.RLIMIT_NOFILE, nil, new(unix.Rlimit)) })},
		{"HOOK-4b", "the watcher's way to report", denied(func() error { return connect(watcher) })},
	}
}

func connect(socket string) error {
	conn, err := net.DialTimeout("unix", socket, atOnce)
	if err == nil {
		conn.Close()
	}
	return err
}

func open(path string) error {
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err
}

// stops sends the first process signals that would stop any other; the kernel protects a
// namespace's first process from signals from inside.
func stops(context.Context, *Surroundings) (bool, string) {
	if err := unix.Kill(1, unix.SIGSTOP); err != nil {
		return true, err.Error()
	}
	defer unix.Kill(1, unix.SIGCONT) // if it stops, it would not reap this process
	stat, err := os.ReadFile("/proc/1/stat")
	if err != nil {
		return false, err.Error()
	}
	_, after, found := bytes.Cut(stat, []byte(") ")) // after the name (proc_pid_stat(5))
	if !found || len(after) == 0 {
		return false, "no state"
	}
	return after[0] != 'T', "state " + string(after[:1])
}
