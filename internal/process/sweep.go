package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// rounds bounds the passes of a sweep: a process may fork while the list is read, and one
	// that forks faster than it is killed must not keep Ward busy for ever.
	rounds = 100
	// between is how long a round waits at most: the killed need it to end.
	between = 5 * time.Millisecond
)

// sweep calls a round until it has nothing left to do, for as many rounds and as long as a sweep
// goes on.
func sweep(round func() (left bool)) {
	end := time.Now().Add(rounds * between)
	for n := 0; n < rounds || time.Now().Before(end); n++ {
		if !round() {
			return
		}
	}
}

// SweepDescendants ends all descendants of this process. As a subreaper (prctl(2),
// PR_SET_CHILD_SUBREAPER) it is the parent of its orphans, so none escapes. They are stopped
// first, so that no parent sees its child die and starts another. It suits a process that runs
// one command at a time.
func SweepDescendants(leader int) {
	sweep(func() bool {
		rest := living(Descendants())
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, p := range rest {
				syscall.Kill(p.PID, signal)
			}
		}
		AwaitEnd(between, numbersOf(rest)...)
		ReapOrphans(leader)
		return len(rest) > 0
	})
	ReapOrphans(leader)
}

// EndStrays ends what commands of this process left behind, and returns how many processes
// there were. As a subreaper this process is the parent of its orphans, and each command has
// its own session (Group), while other children, such as git, share this process's. Call it
// only when no command runs any more.
func EndStrays() int {
	me, _ := Read(self)
	ended := make(map[int]bool)
	sweep(func() bool {
		var strays []Info
		for _, p := range Descendants() {
			if p.Session != me.Session {
				strays = append(strays, p)
			}
		}
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, p := range living(strays) {
				ended[p.PID] = true
				syscall.Kill(p.PID, signal)
			}
		}
		for _, p := range strays {
			if p.Parent == self && p.Dead {
				syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
			}
		}
		if alive := living(strays); len(alive) > 0 {
			AwaitEnd(between, numbersOf(alive)...)
		} else if len(strays) > 0 {
			time.Sleep(between) // the dead that are another's to reap
		}
		return len(strays) > 0
	})
	return len(ended)
}

// SweepContainer ends everything but the container's first process and this one. One call
// reaches all processes, and none can fork past it (kill(2), signal 9 to -1). It needs
// CAP_KILL. Never call it outside a container: it would kill everything on the machine.
func SweepContainer(leader int) {
	sweep(func() bool {
		if errors.Is(syscall.Kill(-1, syscall.SIGKILL), syscall.ESRCH) {
			return false
		}
		left := living(Others())
		AwaitEnd(between, numbersOf(left)...)
		return len(left) > 0
	})
	ReapOrphans(leader)
}

// ReapOrphans reaps the dead that were handed to this process as a subreaper, but
// not the child whose end a Group waits for.
func ReapOrphans(leader int) {
	for _, p := range Children() {
		if p.PID != leader && p.Dead {
			syscall.Wait4(p.PID, nil, syscall.WNOHANG, nil)
		}
	}
}

// EndTagged ends every process whose environment holds tag ("NAME=value") and
// returns how many there were. With a grace they get SIGTERM first and that much
// time, so that git removes its lock files; then SIGKILL.
//
// Descendants inherit the environment, so it identifies them even after their parent was
// killed.
func EndTagged(tag string, grace time.Duration) int {
	all := make(map[int]bool)
	signal := func(s os.Signal) (left []int, unknown int) {
		unknown = eachTagged(tag, func(p *os.Process) {
			left = append(left, p.Pid)
			all[p.Pid] = true
			p.Signal(s) // it may have ended already
		})
		return left, unknown
	}
	for end := time.Now().Add(grace); time.Now().Before(end); {
		left, unknown := signal(syscall.SIGTERM)
		if len(all)+unknown == 0 { // nobody has had it: a sweep would look the same
			return 0
		}
		if len(left) == 0 {
			break
		}
		AwaitEnd(4*between, left...)
	}
	sweep(func() bool {
		left, unknown := signal(os.Kill)
		if AwaitEnd(between, left...); unknown > 0 {
			time.Sleep(between) // who is in the middle of an execve(2) tells nobody
		}
		return len(left)+unknown > 0
	})
	return len(all)
}

// eachTagged visits the processes that carry tag, and returns of how many nobody can say
// yet. The handle is taken before the look at the environment that counts, and signals go by the
// handle: they cannot hit a stranger who got the number in between (pidfd_open(2)). Most processes
// of a machine are passed over at a first look without one.
func eachTagged(tag string, visit func(*os.Process)) (unknown int) {
	for _, pid := range numbers("/proc") {
		if pid == self {
			continue
		}
		if does, may := carries(pid, tag); !does && !may {
			continue
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		switch does, may := carries(pid, tag); {
		case does:
			visit(p)
		case may:
			unknown++
		}
		p.Release()
	}
	return unknown
}

// carries reports whether a process's environment holds tag, and where it does not, whether
// it may yet: in the middle of an execve(2) there is none, for as long as others want the
// processor. One that cannot be read is another user's, or its process is gone.
func carries(pid int, tag string) (does, may bool) {
	data := environ(pid)
	if len(data) == 0 {
		before := programOf(pid)
		if data = environ(pid); len(data) == 0 {
			return false, before.executing || before != programOf(pid)
		}
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if string(entry) == tag {
			return true, false
		}
	}
	return false, false
}

// environ is a process's environment. One call reads it from one program: behind it, another may have
// taken the process over, and nothing follows.
func environ(pid int) []byte {
	f, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	data := make([]byte, 4<<10)
	for {
		n, err := f.ReadAt(data, 0)
		if n < len(data) || err != nil {
			return data[:n]
		}
		data = make([]byte, 2*len(data))
	}
}
