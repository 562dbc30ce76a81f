package audit

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// Process identifies a process even if its id is reused: start is in clock ticks since boot
// (proc_pid_stat(5), field 22), boot the id of the boot. The zero value identifies none.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// Identify returns the identity of a running process.
func Identify(pid int) (Process, error) {
	p, _, err := identify(pid)
	return p, err
}

// identify is Identify, and the parent process.
func identify(pid int) (p Process, parent int, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, 0, err
	}
	// The second field is the name in parentheses and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return p, 0, fmt.Errorf("/proc/%d/stat is cut off", pid)
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return p, 0, fmt.Errorf("process %d has ended", pid) // a zombie
	}
	if parent, err = strconv.Atoi(fields[1]); err != nil {
		return p, 0, err
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return p, 0, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return Process{pid, start, strings.TrimSpace(string(boot))}, parent, err
}

// Alive reports whether the process still runs.
func (p Process) Alive() bool {
	if p == (Process{}) {
		return false
	}
	now, err := Identify(p.PID)
	return err == nil && now == p
}

// ReceivePack is the git receive-pack that a hook belongs to: the process's nearest ancestor
// that is one, behind any shells, delegates and wrappers. The zero Process means that there is
// none, because a server, such as a forge's, runs the hooks itself.
func ReceivePack(pid int) Process {
	const most = 64 // no layout of hooks has a longer chain of parents
	for range most {
		if pid <= 1 {
			break
		}
		p, parent, err := identify(pid)
		if err != nil {
			break
		}
		if isReceivePack(pid) {
			return p
		}
		pid = parent
	}
	return Process{}
}

// isReceivePack reads a process's command line: "git-receive-pack DIR", or git
// with receive-pack as its command.
func isReceivePack(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	args := strings.Split(string(line), "\x00")
	switch path.Base(args[0]) {
	case "git-receive-pack":
		return true
	case "git":
		for i := 1; i < len(args); i++ {
			switch arg := args[i]; {
			case arg == "receive-pack":
				return true
			case arg == "-c" || arg == "-C" || arg == "--git-dir" || arg == "--exec-path" || arg == "--namespace" || arg == "--config-env":
				i++ // takes a word
			case !strings.HasPrefix(arg, "-"):
				return false // another command of git's
			}
		}
	}
	return false
}
