package door

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"git-ward/internal/process"
)

// processes are this machine's processes by session. Each push is a session that its git
// starts. Hooks and their children may make process groups, but none leaves the session.
type processes struct {
	mu sync.Mutex
	at time.Time
	by map[int][]process.Info // by session
}

// machine is shared by all doors of this process.
var machine processes

// fresh is how old a list of all processes may be to be reused, so that the pushes of all
// doors share one reading of /proc.
const fresh = 100 * time.Millisecond

// of returns the processes of the session that leader started.
func (p *processes) of(leader int) []process.Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) > fresh {
		p.by, p.at = sessions(), time.Now()
	}
	return p.by[leader]
}

// sessions reads all processes.
func sessions() map[int][]process.Info {
	all := map[int][]process.Info{}
	for _, p := range process.All() {
		all[p.Session] = append(all[p.Session], p)
	}
	return all
}

// usage is what a session's processes use: processor time so far, and anonymous memory now,
// because file pages may be shared.
func (p *processes) usage(leader int) (cpu time.Duration, memory int64) {
	for _, m := range p.of(leader) {
		cpu += m.CPU + m.ChildrenCPU
		memory += anonymous(m.PID)
	}
	return cpu, memory
}

// anonymous is a process's resident memory without file-backed and shared pages, in bytes; 0
// when it is gone (proc_pid_statm(5)).
func anonymous(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}

// endChildren terminates every process of a session except its leader.
//
// Receive-pack must not die first: since git 2.39 it leaves its quarantine behind when a
// signal ends it (tmp-objdir.c). If its unpacker or hook dies instead, it refuses the push,
// tells the client, and cleans up.
func endChildren(leader int) {
	for _, m := range sessions()[leader] {
		if m.PID != leader {
			syscall.Kill(m.PID, syscall.SIGTERM)
		}
	}
}

// killSession kills what remains of a session.
func killSession(leader int) {
	for _, m := range sessions()[leader] {
		syscall.Kill(m.PID, syscall.SIGKILL)
	}
}
