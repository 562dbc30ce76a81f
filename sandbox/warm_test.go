package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/benchtest"
	"git-ward/internal/process"
	"git-ward/internal/tier"
	"git-ward/sandbox/fence"
)

// directs adds a directive that the script model meets at once, and pushes it.
func (m *machine) directs(id string) {
	m.T.Helper()
	m.Git("fetch", "--quiet")
	m.Git("reset", "--quiet", "--hard", "origin/main")
	comms, err := os.ReadFile(filepath.Join(m.Work, "COMMS.md"))
	if err != nil {
		m.T.Fatal(err)
	}
	m.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### "+id+": in the fence\n\nWork.\n\n- [ ] there is a file (`test -s work/"+id+".md`)\n- work: work/"+id+".md\n", 1))
	m.Git("commit", "--quiet", "--all", "--message", id)
	m.Git("push", "--quiet", "origin", "main")
}

// reported waits for a directive's report.
func (m *machine) reported(id string) {
	m.T.Helper()
	await.True(m.T, "the report of "+id, func() bool {
		m.Git("fetch", "--quiet")
		return strings.Contains(m.Git("show", "origin/main:COMMS.md"), " "+id+" EXIT_CONVERGED\n")
	})
}

// log is the launcher's.
func (m *machine) log() string {
	text, _ := os.ReadFile(filepath.Join(m.Bare, "ward/door.log"))
	return string(text)
}

// resting are a repository's containers that are initialized and not started, by their first
// processes.
func resting(bare string) (pids []int) {
	name := "git-ward-" + fence.OwnerOf(bare)
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if words := strings.Split(string(line), "\x00"); filepath.Base(words[0]) != "conmon" || !strings.Contains(string(line), name) {
			continue
		}
		var pid int
		fmt.Sscanf(file, "/proc/%d/", &pid)
		for _, first := range process.ChildrenOf(pid) {
			if program(first.PID) == "runc:[2:INIT]" {
				pids = append(pids, first.PID)
			}
		}
	}
	return pids
}

// tree is a process with all of its children, podman's service among them.
func tree(pid int) []int {
	all := []int{pid}
	for _, child := range process.ChildrenOf(pid) {
		all = append(all, tree(child.PID)...)
	}
	return all
}

func program(pid int) string {
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(comm))
}

// warmLaunch is a launch with one container prepared, whose host has routes that nobody else moves.
func warmLaunch(t *testing.T, m *machine) *exec.Cmd {
	t.Helper()
	cmd := m.Command(m.Work, nil, "git-ward", "launch", "--bare", m.Bare, "--state", m.state(), "--model", "script")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, at := range tree(cmd.Process.Pid) { // all that has the test's output
			syscall.Kill(at, syscall.SIGKILL)
		}
		cmd.Wait()
	})
	return cmd
}

// one waits for the one container that is prepared.
func (m *machine) one() int {
	m.T.Helper()
	var all []int
	await.True(m.T, "a container is prepared", func() bool {
		all = resting(m.Bare)
		return len(all) == 1
	})
	return all[0]
}

// bound counts the directives that a prepared container was bound to, and thrown those away.
func (m *machine) bound() (bound, thrown int) {
	return strings.Count(m.log(), "a prepared container is bound"), strings.Count(m.log(), "a prepared container is thrown away")
}

// TestWarm: a directive is worked on in the container that was prepared, whose process, sockets and
// disk were there before, and whose door answered nobody. Where the host's routes have moved it is
// thrown away. A launcher that is killed leaves nothing that the next one does not sweep.
func TestWarm(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	m.set("[launch] warm = 1")
	m.settles(t)
	cmd := warmLaunch(t, m)
	pid := m.one()
	doors, _ := filepath.Glob(m.dir + "/*/*/door/sock")
	if len(doors) == 0 {
		doors, _ = filepath.Glob(m.dir + "/*/door/sock")
	}
	if len(doors) != 2 { // the agent's and the watcher's
		t.Fatalf("the sockets of the prepared container: %v", doors)
	}
	answered := make(chan struct{}, len(doors))
	for _, door := range doors {
		conn, err := net.Dial("unix", door)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			if n, _ := conn.Read(make([]byte, 1)); n > 0 { // git says at once what it has
				answered <- struct{}{}
			}
		}()
	}
	for range 5 { // of what takes longer than a door that is served
		m.Run(m.Work, "git-ward", "status")
	}
	if program(pid) != "runc:[2:INIT]" || len(answered) > 0 {
		t.Errorf("before there is a directive %s runs, and %d doors answer", program(pid), len(answered))
	}
	m.directs("D-1")
	await.True(t, "the prepared container begins", func() bool { return program(pid) == fence.ForwarderProgram })
	await.Value(t, "its door answers", answered)
	m.reported("D-1")
	if bound, thrown := m.bound(); bound != 1 || thrown != 0 {
		t.Errorf("%d were bound, %d thrown away", bound, thrown)
	}

	old := m.one()
	m.host.Sh("ip route add 198.51.100.0/24 via 192.0.2.1")
	m.directs("D-2")
	m.reported("D-2")
	if bound, thrown := m.bound(); bound != 1 || thrown != 1 {
		t.Errorf("after a route has moved %d were bound, %d thrown away:\n%s", bound, thrown, m.log())
	}
	m.host.Sh("ip route del 198.51.100.0/24 via 192.0.2.1")
	await.True(t, "it is gone", func() bool { return program(old) == "" })

	m.one()
	for _, at := range tree(cmd.Process.Pid) { // nsenter's, of the launcher and its reaper
		syscall.Kill(at, syscall.SIGKILL)
	}
	m.works(t)
	if left := resting(m.Bare); len(left) > 0 {
		t.Errorf("prepared containers are left: %v", left)
	}
	if left, _ := filepath.Glob(m.state() + "/warm*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	// Of this repository's alone: others may run on the same kernel, or have been killed.
	owner := fence.OwnerOf(m.Bare)
	all := m.sh(podmanOn(m.storage)+"container ls --all --format '{{.Names}} {{.Labels}}'") + m.sh(podmanOn(m.storage)+"volume ls --format '{{.Name}} {{.Labels}}'")
	for left := range strings.Lines(all) {
		if strings.Contains(left, owner) {
			t.Errorf("podman has %s", left)
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, loop := range loops {
		if file, _ := os.ReadFile(loop); strings.HasPrefix(string(file), m.state()) {
			t.Errorf("%s is mounted", file)
		}
	}
	m.Fsck()
}

// TestBenchWarm is how long a directive's payload takes to begin, from its lease on, in a prepared
// container and in one that is made then.
func TestBenchWarm(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	m := newMachine(t)
	m.set("[launch] warm = 1")
	warmLaunch(t, m)
	for n := range 8 {
		m.one()
		if n%2 == 1 { // it is not as one would be made now
			m.host.Sh(fmt.Sprintf("ip route add 198.51.100.%d/32 via 192.0.2.1", n))
		}
		m.directs(fmt.Sprintf("D-%d", n+1))
		m.reported(fmt.Sprintf("D-%d", n+1))
	}
	for _, line := range regexp.MustCompile(`.*its payload has begun.*`).FindAllString(m.log(), -1) {
		t.Log(line)
	}
}
