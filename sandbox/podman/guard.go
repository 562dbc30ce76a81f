package podman

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
)

// guard is a second reaper, for the case that launcher and reaper are both killed: a container
// that was made but not started, and the service, would not end by themselves. It reads a pipe
// whose other end both of them hold, and acts only after both are dead.
type guard struct {
	cmd  *exec.Cmd
	word *os.File // this process's end of the guard's pipe
}

// openGuard passes both ends of the guard's pipe to a reaper that is about to start. This
// process keeps one, and closes the reaper's copies once it has them.
func (r *reaper) openGuard() (theirs *os.File, err error) {
	if theirs, r.guard, err = os.Pipe(); err != nil {
		return nil, err
	}
	r.cmd.ExtraFiles = append(r.cmd.ExtraFiles, r.guard, theirs)
	return theirs, nil
}

// startGuard starts the reaper's guard. A launch continues without one, because a later launch
// also cleans up.
func (r *reaping) startGuard() {
	word, in := os.NewFile(guardWordFD, "the guard's word"), os.NewFile(guardFD, "the guard's input")
	defer in.Close()
	r.guard.word = word // or it was closed by the garbage collector
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

// dismiss ends the guard after the reaper has done the work.
func (g *guard) dismiss() {
	if g.cmd != nil {
		g.cmd.Process.Kill()
		g.cmd.Wait()
	}
}
