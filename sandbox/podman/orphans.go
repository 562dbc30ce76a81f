package podman

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/process"
)

// making is how long a runtime may take to finish what it has begun.
const making = 2 * time.Second

// awaitRuntime lets the runtime finish a container, because it would leave one that it does
// not know completely.
func (r *reaping) awaitRuntime() {
	for end := time.Now().Add(making); time.Now().Before(end); {
		var busy []int
		for _, p := range process.Descendants() {
			if !p.Dead && runs(p.PID, r.Runtime) && !elsewhere(p.PID) {
				busy = append(busy, p.PID)
			}
		}
		if len(busy) == 0 {
			return
		}
		process.AwaitEnd(10*time.Millisecond, busy...) // or until it has become the container's first process
	}
}

// endOrphans kills the run's remaining processes and reports whether there were any. All of
// them become this process's children: the kernel reparents the conmons that the service left,
// and a killed conmon's children. It kills only its own children, whose numbers cannot be
// reused before it reaps them. Podman's own processes end by themselves: a container's
// cleanup, for which it waits if patient, and the process that holds an ordinary user's
// namespaces, also for other containers.
func (r *reaping) endOrphans(patient bool) (found bool) {
	patient = patient || os.Geteuid() != 0
	for range 100 {
		var left []int
		for _, p := range process.All() {
			switch {
			case p.Parent != os.Getpid(), p.PID == r.guard.pid():
			case p.Dead:
				syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
			case patient && r.isPodman(p.PID):
			default:
				left = append(left, p.PID)
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
		if len(left) == 0 {
			return found
		}
		found = true
		process.AwaitEnd(5*time.Millisecond, left...)
	}
	return found
}

// hasLost reports whether a container has lost its conmon: only then does the kernel make a
// process of another PID namespace this one's child. It looks twice, because the container may
// just be ending.
func hasLost() bool {
	for range 2 {
		children := process.Children()
		i := slices.IndexFunc(children, func(p process.Info) bool { return !p.Dead && elsewhere(p.PID) })
		if i < 0 {
			return false
		}
		process.AwaitEnd(100*time.Millisecond, children[i].PID) // where its end is under way
	}
	return true
}

// isPodman reports whether a process runs podman, or the program by which podman holds an
// ordinary user's namespaces. An unreadable process counts as not podman's.
func (r *reaping) isPodman(pid int) bool {
	return !elsewhere(pid) && (runs(pid, r.Podman[0]) || runs(pid, "/usr/libexec/podman/catatonit") || runs(pid, "/usr/bin/catatonit"))
}

// runs reports whether a process runs a file, by /proc/PID/exe.
func runs(pid int, path string) bool {
	of, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	want, err := os.Stat(path)
	return err == nil && os.SameFile(of, want)
}

// elsewhere reports whether a process is in another PID namespace: a container's.
func elsewhere(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return false
	}
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return err == nil && its != own
}

// findExits adds the directories in which the running conmons report their containers' exits,
// by container id.
func findExits(exits map[string]string) {
	for _, p := range process.All() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		words := strings.Split(string(line), "\x00")
		dir, id := slices.Index(words, "--exit-dir")+1, slices.Index(words, "-c")+1
		if dir > 0 && id > 0 && id < len(words) {
			exits[words[id]] = words[dir]
		}
	}
}

// removeExits removes exit files that a conmon wrote after podman had removed the container,
// because podman will not read them. It only handles containers that podman had under the
// run's names.
func removeExits(ids map[string]bool, exits map[string]string) {
	for id := range ids {
		if dir := exits[id]; filepath.IsAbs(dir) && filepath.Base(id) == id {
			os.Remove(filepath.Join(dir, id)) // usually there is none
		}
	}
}
