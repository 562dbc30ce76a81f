package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/tier"
)

// The test binary plays a launcher, which joins a group and starts a child that attacks,
// and the child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "launcher":
			os.Exit(launcher(os.Args[2:]))
		case "eat":
			eat()
		case "multiply":
			multiply()
		case "nothing": // and never the tests again
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// launcher joins the group of a name with bounds on memory and processes, "" and 0 for
// none, runs an attack, and says how it ended and how many groups are left.
func launcher(args []string) int {
	memory, _ := strconv.ParseInt(args[1], 10, 64)
	processes, _ := strconv.ParseInt(args[2], 10, 64)
	g, err := Join(args[0], Limits{memory, processes})
	if err != nil {
		fmt.Println("none:", err)
		return 1
	}
	attack := exec.Command(os.Args[0], args[3])
	attack.Stdin, attack.Stdout = os.Stdin, os.Stdout
	err = attack.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		fmt.Println("killed")
	} else if err != nil {
		fmt.Println(err)
	}
	if err := g.Leave(); err != nil {
		fmt.Println("stays:", err)
		return 1
	}
	fmt.Println("launcher lives")
	return 0
}

const mib = 1 << 20

// eat takes 200 MiB.
func eat() {
	var all [][]byte
	for range 200 {
		all = append(all, bytes.Repeat([]byte{1}, mib))
	}
	fmt.Println("ate", len(all))
	os.Exit(0)
}

// multiply starts 150 processes, says whether all run, and ends them at the end of its input.
func multiply() {
	var all []*exec.Cmd
	for range 150 {
		c := exec.Command("sleep", "60")
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			fmt.Println("stopped by", errors.Unwrap(err))
			break
		}
		all = append(all, c)
	}
	if len(all) == 150 {
		fmt.Println("multiplied")
	}
	io.Copy(io.Discard, os.Stdin)
	for _, c := range all {
		c.Process.Kill()
		c.Wait()
	}
	os.Exit(0)
}

// What a launcher's children take together is held, and the launcher lives; with the
// bound taken away the same attacks go through (the bound of the host's own work).
func TestAttacks(t *testing.T) {
	tier.First(t, "attacks that take memory and processes, about 3 s")
	possible(t)
	for _, c := range []struct {
		attack, held, free string
		limits             Limits
	}{
		{"eat", "killed", "ate 200", Limits{Memory: 100 * mib}},
		{"multiply", "stopped by resource temporarily unavailable", "multiplied", Limits{Processes: 60}},
	} {
		for _, l := range []Limits{c.limits, {}} {
			want := c.held
			if l == (Limits{}) {
				want = c.free
			}
			name := fmt.Sprintf("ward-test-%s-%d", c.attack, os.Getpid())
			out, err := exec.Command(os.Args[0], "launcher", name, fmt.Sprint(l.Memory), fmt.Sprint(l.Processes), c.attack).CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "launcher lives") {
				t.Errorf("%s with %+v: %v, want %q\n%s", c.attack, l, err, want, out)
			}
			if left := groups(t, name); len(left) > 0 {
				t.Errorf("%s leaves %v", c.attack, left)
			}
		}
	}
}

// A launcher that is killed leaves its group, and the next one takes it up, whatever its
// bounds were, and removes it.
func TestKilled(t *testing.T) {
	possible(t)
	name := fmt.Sprintf("ward-test-killed-%d", os.Getpid())
	cmd := exec.Command(os.Args[0], "launcher", name, fmt.Sprint(100*mib), "60", "multiply")
	hold, err := cmd.StdinPipe() // the attack goes on until this closes
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "stopped by ") {
		t.Fatalf("%v, %q: the group is not full, so nothing was tried", err, line)
	}
	cmd.Process.Kill()
	cmd.Process.Wait() // Wait of cmd would close hold
	if len(groups(t, name)) == 0 {
		t.Fatal("no group is left, so nothing was tried")
	}
	next := exec.Command(os.Args[0], "launcher", name, fmt.Sprint(400*mib), "0", "eat")
	said, err := next.StdoutPipe()
	if err == nil {
		err = next.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	first, _ := lines.ReadString('\n') // with the bounds of the dead one it could not start its child
	hold.Close()
	rest, _ := io.ReadAll(lines)
	if err := next.Wait(); err != nil || first != "ate 200\n" {
		t.Errorf("%v\n%s%s", err, first, rest)
	}
	if left := groups(t, name); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// possible skips where the user may make no group, saying why.
func possible(t *testing.T) {
	t.Helper()
	if testing.Short() { // the race detector, too, which takes several times the memory
		t.Skip("SKIPPED in the quick tier: it eats memory up to a bound, and makes many processes")
	}
	if systemdRuns() {
		t.Skip("SKIPPED: here systemd makes scopes, which these attacks do not try")
	}
	out, _ := exec.Command(os.Args[0], "launcher", fmt.Sprintf("ward-test-try-%d", os.Getpid()), "0", "0", "nothing").CombinedOutput()
	if why, none := strings.CutPrefix(string(out), "none: "); none {
		t.Skipf("SKIPPED: %s", why)
	}
}

// groups are the directories of a group's name.
func groups(t *testing.T, name string) (found []string) {
	t.Helper()
	at, err := read(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range at.hierarchies() {
		if _, err := os.Stat(filepath.Join(h.parent, name)); err == nil {
			found = append(found, h.parent)
		}
	}
	return found
}
