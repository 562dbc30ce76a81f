package firewall

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary play the product's hidden command and the two
// ends of a wire, each in a network namespace of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "firewall-child":
			end(Child(context.Background(), os.Stdin, os.Stdout))
		case "mute-child":
			end(nil)
		case "lying-child":
			end(json.NewEncoder(os.Stdout).Encode(reply{Ruleset{"table 1 ward": {"flags 0"}}}))
		case "closed-child": // it does something else than it was asked for
			closed := strings.NewReader(`{"policy": {"mode": "allowlist"}, "outside": "1:1"}`)
			end(Child(context.Background(), closed, os.Stdout))
		case "actor":
			end(act(os.Stdin, os.Stdout))
		case "host":
			end(host(os.Stdin, os.Stdout))
		case "ordinary":
			end(ordinary(os.Stdin, os.Stdout))
		}
	}
	os.Exit(m.Run())
}

// host tells the facts of its namespace when asked.
func host(stdin io.Reader, stdout io.Writer) error {
	for lines := bufio.NewScanner(stdin); lines.Scan(); {
		p := Policy{}
		var err error
		if p.HostAddrs, p.HostRoutes, err = HostFacts(context.Background()); err != nil {
			return err
		}
		if err := json.NewEncoder(stdout).Encode(p); err != nil {
			return err
		}
	}
	return nil
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// needRoot skips, out loud, where the kernel cannot be tried.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, OUT LOUD: the firewall is tested in the kernel, which needs root")
	}
	for _, tool := range []string{"ip", "nft", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED, OUT LOUD: %v (apt-get install iproute2 nftables util-linux)", err)
		}
	}
}

// process is a child that answers lines of JSON. It ends with its stdin, so
// that none outlives a test that is killed.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// start runs this binary as verb, with new namespaces.
func start(t *testing.T, verb string, namespaces uintptr) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("/proc/self/exe", verb)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	p.cmd.Stderr = os.Stderr
	p.begin()
	return p
}

func (p *process) begin() {
	p.t.Helper()
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.stdin, p.lines = stdin, bufio.NewScanner(stdout)
	p.lines.Buffer(nil, 16<<20)
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		stdin.Close()
		p.cmd.Wait()
	})
}

// ask sends a question and waits for the answer.
func (p *process) ask(question, answer any) {
	p.t.Helper()
	if err := json.NewEncoder(p.stdin).Encode(question); err != nil {
		p.t.Fatal(err)
	}
	if !p.lines.Scan() {
		p.t.Fatalf("no answer to %v: %v", question, p.lines.Err())
	}
	if err := json.Unmarshal(p.lines.Bytes(), answer); err != nil {
		p.t.Fatalf("%v: %s", err, p.lines.Bytes())
	}
}

func (p *process) netns() string { return fmt.Sprintf("/proc/%d/ns/net", p.cmd.Process.Pid) }

func (p *process) target() Target { return Target{NetNS: p.netns(), Child: []string{"firewall-child"}} }

// sh runs a script in the process's network namespace only: /proc/sys/net is
// that of the reader.
func (p *process) sh(script string) string {
	p.t.Helper()
	out, err := p.try(script)
	if err != nil {
		p.t.Fatalf("%v: %s\n%s", err, out, script)
	}
	return out
}

func (p *process) try(script string) (string, error) {
	out, err := exec.Command("nsenter", "--net="+p.netns(), "sh", "-ec", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// fresh gives a process in a new, empty network namespace.
func fresh(t *testing.T) *process {
	t.Helper()
	needRoot(t)
	return start(t, "actor", syscall.CLONE_NEWNET)
}
