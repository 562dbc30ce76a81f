package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
)

// Ended is a push that hit a limit, with the limit's rule: limit/cpu, limit/memory or
// limit/time. The door reports it, because the push may not have reached a hook.
type Ended struct{ Push, Principal, Name, Rule string }

// String is how `git ward maintain --ended` reads it.
func (e Ended) String() string {
	return strings.Join([]string{e.Push, e.Principal, e.Name, e.Rule}, ":")
}

// tooMuch ends a push that takes more than one may.
type tooMuch struct {
	rule string
	error
}

// ended says at which bound the push ended by that error; ok is false where at none.
func (s *service) ended(p *push, err error) (e Ended, ok bool) {
	e = Ended{Push: p.id, Principal: cmp.Or(s.principal, Agent), Name: s.name}
	var much tooMuch
	switch {
	case s.verb != "receive-pack":
		return e, false
	case errors.As(err, &much):
		e.Rule = much.rule
	case errors.Is(err, context.DeadlineExceeded):
		e.Rule = "limit/time"
	}
	return e, e.Rule != ""
}

// look is the time between two looks at what a push takes. Most pushes end before the
// first.
const look = 250 * time.Millisecond

// meter watches what a push takes with all its children, charges it, and ends the push
// when it is more than one may take.
type meter struct {
	cpu     time.Duration // most for one push
	memory  int64         // likewise, bytes at a time
	charge  func(time.Duration)
	charged time.Duration
}

func (s *service) newMeter(charge func(time.Duration)) *meter {
	return &meter{cpu: s.settings.Door.CPU.Duration, memory: s.settings.Door.Memory, charge: charge}
}

// begin meters the session that leader begins; end is called, with the reason, when it
// passes a bound. What it returns is to be called with the leader's end, which says all
// that was taken. A nil meter counts nothing.
func (m *meter) begin(leader int, end func(error)) (settled func(*os.ProcessState)) {
	if m == nil {
		return func(*os.ProcessState) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { m.watch(ctx, leader, end) })
	return func(last *os.ProcessState) {
		cancel()
		watching.Wait()
		m.settle(last.UserTime() + last.SystemTime())
	}
}

func (m *meter) watch(ctx context.Context, leader int, end func(error)) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		cpu, memory := machine.usage(leader)
		m.settle(cpu)
		switch {
		case cpu > m.cpu:
			end(tooMuch{"limit/cpu", diag.Hint(fmt.Errorf("the push was ended: git and its hooks took %v of processor time, more than %v", cpu, m.cpu),
				"push less at once; the host admin sets [door] cpu in config.toml")})
			return
		case memory > m.memory:
			end(tooMuch{"limit/memory", diag.Hint(fmt.Errorf("the push was ended: git and its hooks hold %d bytes of memory, more than %d", memory, m.memory),
				"push less at once; the host admin sets [door] memory in config.toml")})
			return
		}
	}
}

// settle charges what was taken since the last time.
func (m *meter) settle(cpu time.Duration) {
	if cpu > m.charged {
		m.charge(cpu - m.charged)
		m.charged = cpu
	}
}

// nice is the niceness of a push of the agent's, a third of another's share: on a busy
// machine more would end honest pushes at the deadline of their checks.
const nice = 5

// yield makes a process, and by inheritance its children, give way to everybody else on
// this machine: to the processor and to the disk. Where the kernel has no such thing it
// stays as it is.
func yield(pid int) {
	unix.Setpriority(unix.PRIO_PROCESS, pid, nice)
	const whoProcess, bestEffort, lowest = 1, 2 << 13, 7 // ioprio_set(2)
	unix.Syscall(unix.SYS_IOPRIO_SET, whoProcess, uintptr(pid), bestEffort|lowest)
	// A session is a scheduling group of its own where the kernel makes such (sched(7)),
	// and its niceness is what counts then.
	os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(nice)), 0)
}
