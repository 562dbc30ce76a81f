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

// making is how long a runtime may take for what it has begun.
const making = 2 * time.Second

// awaitRuntime lets the runtime finish a container that it is just making: it would leave
// one that it does not know whole.
func (r *reaping) awaitRuntime() {
	for end := time.Now().Add(making); time.Now().Before(end); {
		busy := false
		for _, p := range process.Descendants() {
			busy = busy || !p.Dead && runs(p.PID, r.Runtime) && !elsewhere(p.PID)
		}
		if !busy {
			return
		}
		time.Sleep(10 * time.Millisecond) // it is nobody's child of ours yet
	}
}

// endOrphans kills what is left of the run and tells whether there was anything. All of it
// descends from this process: the kernel gives it the conmons that the service has left, and
// what a conmon held when that is killed. Only own children are killed, whose numbers are
// nobody else's until they are reaped here; theirs come here then. Podman's own processes end
// by themselves: one that cleans up after a container, which is waited for if patient, and the
// one that holds an ordinary user's namespaces, for other containers, too.
func (r *reaping) endOrphans(patient bool) (found bool) {
	patient = patient || os.Geteuid() != 0
	for range 100 {
		left := false
		for _, p := range process.All() {
			switch {
			case p.Parent != os.Getpid(), p.PID == r.guard.pid():
			case p.Dead:
				syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
			case patient && r.isPodman(p.PID):
			default:
				left = true
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
		if !left {
			return found
		}
		found = true
		time.Sleep(5 * time.Millisecond) // the killed need it to end
	}
	return found
}

// hasLost tells whether a container has lost its conmon: the kernel made it this process's child
// then, as it does with nothing else of another PID namespace. One that is just ending is not
// meant, so it is looked at again.
func hasLost() bool {
	for range 2 {
		i := slices.IndexFunc(process.Children(), func(p process.Info) bool { return !p.Dead && elsewhere(p.PID) })
		if i < 0 {
			return false
		}
		time.Sleep(100 * time.Millisecond) // one whose end is under way needs it to end
	}
	return true
}

// isPodman tells whether a process runs podman, or the program by which podman holds an
// ordinary user's namespaces. One that cannot be looked at runs what is not podman's.
func (r *reaping) isPodman(pid int) bool {
	return !elsewhere(pid) && (runs(pid, r.Podman[0]) || runs(pid, "/usr/libexec/podman/catatonit") || runs(pid, "/usr/bin/catatonit"))
}

// runs tells whether a process runs a file, by the kernel's own link to it.
func runs(pid int, path string) bool {
	of, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	want, err := os.Stat(path)
	return err == nil && os.SameFile(of, want)
}

// elsewhere tells whether a process is in another PID namespace: a container's.
func elsewhere(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return false
	}
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return err == nil && its != own
}

// findExits adds the directories where the conmons that run tell podman of their containers'
// ends, by the containers' ids.
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

// removeExits removes what a conmon said of a container's end after podman had removed that:
// podman looks for it no more. Only a container that podman had under the run's names counts,
// whose id is of podman's making.
func removeExits(ids map[string]bool, exits map[string]string) {
	for id := range ids {
		if dir := exits[id]; filepath.IsAbs(dir) && filepath.Base(id) == id {
			os.Remove(filepath.Join(dir, id)) // mostly there is none
		}
	}
}
