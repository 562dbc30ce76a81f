package door

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// member is one process of a session, and what the kernel counts of it.
type member struct {
	pid int
	cpu time.Duration // its own, and of its children that were waited for
}

// processes are this machine's processes by session. A push is a session, which its git
// begins: hooks and their children may have groups of their own, but none leaves it.
type processes struct {
	mu   sync.Mutex
	at   time.Time
	pids map[int][]member // by session
}

// fresh is how old a look at all processes may be for the next one who asks: several
// pushes that run look once.
const fresh = 100 * time.Millisecond

// tick is the unit of processor time in /proc (proc_pid_stat(5); USER_HZ is 100 on
// every machine that Go runs on).
const tick = 10 * time.Millisecond

// of are the processes of the session that leader began.
func (p *processes) of(leader int) []member {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) > fresh {
		p.pids, p.at = sessions(), time.Now()
	}
	return p.pids[leader]
}

// sessions reads all processes.
func sessions() map[int][]member {
	all := map[int][]member{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		// pid (name) state parent group session ...; the name may hold anything
		// (proc_pid_stat(5)).
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 15 {
			continue
		}
		session := number(fields[3])
		ticks := number(fields[11]) + number(fields[12]) + number(fields[13]) + number(fields[14])
		all[session] = append(all[session], member{pid: pid, cpu: time.Duration(ticks) * tick})
	}
	return all
}

func number(field []byte) int {
	n, _ := strconv.Atoi(string(field))
	return n
}

// usage is what the processes of a session have taken: processor time so far, and
// memory now, without what files hold, which many of them may share.
func (p *processes) usage(leader int) (cpu time.Duration, memory int64) {
	for _, m := range p.of(leader) {
		cpu += m.cpu
		memory += anonymous(m.pid)
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
		if m.pid != leader {
			syscall.Kill(m.pid, syscall.SIGTERM)
		}
	}
}

// killSession ends whatever is left of a session.
func killSession(leader int) {
	for _, m := range sessions()[leader] {
		syscall.Kill(m.pid, syscall.SIGKILL)
	}
}
