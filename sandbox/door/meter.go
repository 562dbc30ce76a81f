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

// tooMuch ends a push that uses more than a single push may.
type tooMuch struct {
	rule string
	error
}

// ended says which limit ended a push with that error; ok is false if none did.
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

// look is the time between two measurements of a push. Most pushes end before the first.
const look = 250 * time.Millisecond

// meter measures a push with all its children, charges its use, and ends it at a limit.
type meter struct {
	cpu     time.Duration // most for one push
	memory  int64         // likewise, bytes at a time
	charge  func(time.Duration)
	charged time.Duration
}

func (s *service) newMeter(charge func(time.Duration)) *meter {
	return &meter{cpu: s.settings.Door.CPU.Duration, memory: s.settings.Door.Memory, charge: charge}
}

// begin measures the session that leader started. It calls end, with the reason, when the
// session passes a limit. The returned function is called with the leader's exit state, which
// has the total. A nil meter measures nothing.
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
		m.chargeUse(last.UserTime() + last.SystemTime())
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
		m.chargeUse(cpu)
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

// chargeUse charges the use since the last measurement.
func (m *meter) chargeUse(cpu time.Duration) {
	if cpu > m.charged {
		m.charge(cpu - m.charged)
		m.charged = cpu
	}
}

// nice is the niceness of an agent's push, about a third of another process's share. With
// more, honest pushes on a busy machine would miss their checks' deadline.
const nice = 5

// yield lowers the CPU and disk priority of a process and, by inheritance, its children. Where
// the kernel cannot, it does nothing.
func yield(pid int) {
	unix.Setpriority(unix.PRIO_PROCESS, pid, nice)
	const whoProcess, bestEffort, lowest = 1, 2 << 13, 7 // ioprio_set(2)
	unix.Syscall(unix.SYS_IOPRIO_SET, whoProcess, uintptr(pid), bestEffort|lowest)
	// Where the kernel has autogroups (sched(7)), a session is a scheduling group, and the
	// group's niceness counts.
	os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(nice)), 0)
}
