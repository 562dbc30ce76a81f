package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// self is this process, which no sweep ends.
var self = os.Getpid()

// Info has a process's fields from proc_pid_stat(5).
type Info struct {
	PID, Parent int
	Session     int           // the process that called setsid(2) for it
	Dead        bool          // it has ended, and nobody has reaped it yet
	Stopped     bool          // by a signal, or by who traces it
	CPU         time.Duration // processor time, its own
	ChildrenCPU time.Duration // processor time of its children that it has reaped
	Memory      int64         // resident, bytes
}

// tick is 1/USER_HZ, which is the same on every Linux that Go runs on.
const tick = time.Second / 100

// All lists the visible processes.
func All() []Info {
	var list []Info
	for _, pid := range numbers("/proc") {
		if p, ok := Read(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

// numbers are the names in a directory of /proc that are numbers. Only the directory itself
// is read: a look into each entry costs four times as much.
func numbers(path string) (list []int) {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// Read returns the Info of one process; ok is false if there is none.
func Read(pid int) (p Info, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Info{}, false
	}
	return parse(pid, data)
}

// program is what a process executes, told apart by where the kernel put it. executing: it is not yet
// there as a whole, and has no environment.
type program struct {
	at        string
	executing bool
}

// programOf returns the same for a thread of the kernel's, and for a process that has ended.
func programOf(pid int) program {
	code, texts := placed(pid)
	return program{code + texts, code == "0" && tells()}
}

// tells reports whether the kernel says where a program is; gVisor's does not.
var tells = sync.OnceValue(func() bool { code, _ := placed(self); return code != "0" })

// placed is where a process's code begins, which an execve(2) sets last, and where its arguments and
// its environment are (proc_pid_stat(5)).
func placed(pid int) (code, texts string) {
	if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
		return "", ""
	}
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 49 {
		return "", ""
	}
	return f[23], strings.Join(f[45:49], " ")
}

// parse reads the fields behind the command's name, which may hold anything.
func parse(pid int, stat []byte) (Info, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return Info{}, false
	}
	f := strings.Fields(string(stat[i+1:]))
	if len(f) < 22 {
		return Info{}, false
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
	return Info{
		PID:         pid,
		Parent:      int(number(1)),
		Session:     int(number(3)),
		Dead:        f[0] == "Z" || f[0] == "X",
		Stopped:     f[0] == "T" || f[0] == "t",
		CPU:         time.Duration(number(11)+number(12)) * tick,
		ChildrenCPU: time.Duration(number(13)+number(14)) * tick,
		Memory:      number(21) * int64(os.Getpagesize()),
	}, true
}

// Others lists the visible processes except the first one and this one: in a container, all
// that its payload started.
func Others() []Info {
	var list []Info
	for _, p := range All() {
		if p.PID != 1 && p.PID != self {
			list = append(list, p)
		}
	}
	return list
}

// Children lists this process's children, zombies included. The kernel lists them by thread,
// and may leave one out while another ends, whose SIGCHLD then asks for another look
// (proc_tid_children(5)). A kernel without the lists is asked for all processes.
func Children() []Info { return ChildrenOf(self) }

// ChildrenOf lists another process's children, as far as permissions allow.
func ChildrenOf(parent int) []Info {
	if !haveChildren() {
		return slices.DeleteFunc(All(), func(p Info) bool { return p.Parent != parent })
	}
	var children []Info
	for _, thread := range numbers(fmt.Sprintf("/proc/%d/task", parent)) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, thread)) // a thread that has ended has given them to another
		for _, name := range strings.Fields(string(data)) {
			pid, _ := strconv.Atoi(name)
			if p, ok := Read(pid); ok && p.Parent == parent {
				children = append(children, p)
			}
		}
	}
	return children
}

// haveChildren is whether this kernel lists a thread's children.
var haveChildren = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/self/task/" + strconv.Itoa(self) + "/children")
	return err == nil
})

// Below lists this process's descendants by following the kernel's lists of children. Its cost
// depends only on their number. As with Children, one may be missing while another ends; use
// Descendants to end processes.
func Below() []Info {
	list := Children()
	for i := 0; i < len(list); i++ {
		list = append(list, ChildrenOf(list[i].PID)...)
	}
	return list
}

// Descendants lists all descendants of this process.
func Descendants() []Info {
	children := map[int][]Info{}
	for _, p := range All() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var list []Info
	for next := children[self]; len(next) > 0; {
		p := next[0]
		next = append(next[1:], children[p.PID]...)
		list = append(list, p)
	}
	return list
}

func living(list []Info) []Info {
	var out []Info
	for _, p := range list {
		if !p.Dead {
			out = append(out, p)
		}
	}
	return out
}
