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

// processes are this machine's processes by session. A push is a session, which its git
// begins: hooks and their children may have groups of their own, but none leaves it.
type processes struct {
	mu sync.Mutex
	at time.Time
	by map[int][]process.Info // by session
}

// machine is what all doors of this process look at.
var machine processes

// fresh is how old a look at all processes may be for the next one who asks: the pushes of
// all doors look once.
const fresh = 100 * time.Millisecond

// of are the processes of the session that leader began.
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

// usage is what the processes of a session have taken: processor time so far, and
// memory now, without what files hold, which many of them may share.
func (p *processes) usage(leader int) (cpu time.Duration, memory int64) {
	for _, m := range p.of(leader) {
		cpu += m.CPU + m.ChildrenCPU
		memory += anonymous(m.PID)
	}
	return cpu, memory
}

// anonymous is a process's resident memory without what is a file's or shared, in
// bytes; 0 when it is gone (proc_pid_statm(5)).
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

// endChildren asks every process of a session to end, but not its leader.
//
// Receive-pack must not be the one to die: since git 2.39 it leaves its
// quarantine behind when a signal ends it (tmp-objdir.c). When its unpacker or
// its hook dies instead, it refuses the push, tells the client, and cleans up.
func endChildren(leader int) {
	for _, m := range sessions()[leader] {
		if m.PID != leader {
			syscall.Kill(m.PID, syscall.SIGTERM)
		}
	}
}

// killSession ends whatever is left of a session.
func killSession(leader int) {
	for _, m := range sessions()[leader] {
		syscall.Kill(m.PID, syscall.SIGKILL)
	}
}
