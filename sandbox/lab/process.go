package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Process is a child process that answers lines of JSON, such as an actor. It ends at the end of its
// stdin, so that it does not outlive a killed test.
type Process struct {
	T     testing.TB
	Cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// Start runs the test's own binary with the argument verb in new namespaces. Its TestMain must handle
// verb.
func Start(t testing.TB, verb string, namespaces uintptr) *Process {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", verb)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	cmd.Stderr = os.Stderr
	return Begin(t, cmd)
}

// Begin starts a command as a Process.
func Begin(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{T: t, Cmd: cmd}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin, p.lines = stdin, bufio.NewScanner(stdout)
	p.lines.Buffer(nil, 16<<20)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End() })
	return p
}

// End closes stdin and waits for the process.
func (p *Process) End() error {
	p.stdin.Close()
	return p.Cmd.Wait()
}

// Ask sends a question and waits for the answer.
func (p *Process) Ask(question, answer any) {
	p.T.Helper()
	if err := json.NewEncoder(p.stdin).Encode(question); err != nil {
		p.T.Fatal(err)
	}
	if !p.lines.Scan() {
		p.T.Fatalf("no answer to %v: %v", question, p.lines.Err())
	}
	if err := json.Unmarshal(p.lines.Bytes(), answer); err != nil {
		p.T.Fatalf("%v: %s", err, p.lines.Bytes())
	}
}

// Tell sends an actor orders whose answer is "done".
func (p *Process) Tell(orders ...Order) {
	p.T.Helper()
	for _, o := range orders {
		var done string
		p.Ask(o, &done)
	}
}

// Try makes an actor's attempts, all at the same time.
func (p *Process) Try(attempts []Attempt) (outcomes []Outcome) {
	p.T.Helper()
	p.Ask(Order{Try: attempts}, &outcomes)
	return outcomes
}

// Run runs a script in an actor's namespaces.
func (p *Process) Run(script string) (ran Ran) {
	p.T.Helper()
	p.Ask(Order{Run: script}, &ran)
	return ran
}

// Flood makes an actor send a flood.
func (p *Process) Flood(f Flood) (done Flooded) {
	p.T.Helper()
	p.Ask(Order{Flood: &f}, &done)
	return done
}

// AskNames makes an actor send questions to a name server.
func (p *Process) AskNames(q Questions) (done Flooded) {
	p.T.Helper()
	p.Ask(Order{Ask: &q}, &done)
	return done
}

// Asked returns a name server's counts so far.
func (p *Process) Asked() (asked Asked) {
	p.T.Helper()
	p.Ask(Order{Asked: true}, &asked)
	return asked
}

// Seen returns the counts of packets on the sniffed interface since the last call.
func (p *Process) Seen() (seen map[string]int) {
	p.T.Helper()
	p.Ask(Order{Seen: true}, &seen)
	return seen
}

// NetNS returns the path of the process's network namespace.
func (p *Process) NetNS() string { return fmt.Sprintf("/proc/%d/ns/net", p.Cmd.Process.Pid) }

// Sh runs a script in the process's network namespace, but in no other namespace of it; /proc/sys/net
// shows the network namespace of the reading process.
func (p *Process) Sh(script string) string {
	p.T.Helper()
	out, err := p.TrySh(script)
	if err != nil {
		p.T.Fatalf("%v: %s\n%s", err, out, script)
	}
	return out
}

// TrySh is Sh for scripts that may fail.
func (p *Process) TrySh(script string) (string, error) {
	out, err := exec.Command("nsenter", "--net="+p.NetNS(), "sh", "-ec", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
