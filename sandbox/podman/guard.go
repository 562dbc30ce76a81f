package podman

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
)

// guard is a second reaper, for the moment in which launcher and reaper are killed both: a
// container that was made and not started has nothing in it yet that would end it, nor has
// the service. It reads a pipe whose other end both of them hold, and does nothing while
// one of them lives, which then does its work.
type guard struct {
	cmd  *exec.Cmd
	word *os.File // this process's end of the guard's pipe
}

// openGuard gives a reaper that is about to start both ends of the guard's pipe. This
// process keeps one, and closes theirs once the reaper has it.
func (r *reaper) openGuard() (theirs *os.File, err error) {
	if theirs, r.guard, err = os.Pipe(); err != nil {
		return nil, err
	}
	r.cmd.ExtraFiles = append(r.cmd.ExtraFiles, r.guard, theirs)
	return theirs, nil
}

// startGuard starts the reaper's guard. A launch goes on without one: it is the second
// that is there to do the work, and a later launch is the third.
func (r *reaping) startGuard() {
	word, in := os.NewFile(guardWordFD, "the guard's word"), os.NewFile(guardFD, "the guard's input")
	defer in.Close()
	r.guard.word = word // or it was closed as garbage
	rest := *r
	rest.Socket = ""
	line, err := json.Marshal(rest)
	if err != nil {
		return
	}
	if _, err := word.Write(append(line, '\n')); err != nil { // it fits into the pipe
		return
	}
	cmd := exec.Command("/proc/self/exe", ReaperVerb, r.Run)
	cmd.Args[0], cmd.Dir = os.Args[0], "/"
	cmd.Stdin, cmd.ExtraFiles = in, []*os.File{r.lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() == nil {
		r.guard.cmd = cmd
	}
}

// pid is the guard's process, 0 without one.
func (g *guard) pid() int {
	if g.cmd == nil {
		return 0
	}
	return g.cmd.Process.Pid
}

// dismiss ends the guard of a reaper that has done the work.
func (g *guard) dismiss() {
	if g.cmd != nil {
		g.cmd.Process.Kill()
		g.cmd.Wait()
	}
}
