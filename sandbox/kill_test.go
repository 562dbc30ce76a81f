package sandbox

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/sandbox/fence"
)

// TestKills kills the launcher, podman's service or the container, with SIGKILL,
// at random moments of real launches. No container is ever seen without rules,
// nothing is left of the launch, and the next one works. WARD_KILLS says how
// often, once by default.
func TestKills(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	random := rand.New(rand.NewPCG(tier.Seed(t), 1))
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv("WARD_KILLS")); err == nil {
		rounds = n
	}
	m.works(t) // what podman makes once and keeps is there from now on
	before := m.traces()
	for i := range rounds {
		for _, mode := range []string{"public", "allowlist"} {
			m.set(`[egress] mode = "` + mode + `"`)
			for _, target := range []string{"launcher", "service", "container"} {
				moment := time.Duration(random.IntN(1000)) * time.Millisecond
				t.Run(fmt.Sprintf("%d %s %s at %v", i, mode, target, moment), func(t *testing.T) {
					m.killed(t, target, moment)
					if target == "launcher" {
						m.clean(t, before, "network ", "file "+m.dir) // the reaper's work
					}
					if target != "container" {
						// What stays to the next launch: podman's bridge without a
						// container, and the sockets of a launcher before it had a reaper.
						m.works(t)
					}
					m.clean(t, before)
				})
			}
			m.works(t)
			m.clean(t, before)
		}
	}
	m.Fsck()
}

// works wants a launch to do its work.
func (m *machine) works(t *testing.T) {
	t.Helper()
	if out, err := m.in("", "echo it works"); err != nil || !strings.Contains(out, "it works\n") {
		t.Fatalf("the next launch: %v\n%s", err, out)
	}
}

// killed starts a launch, kills what is called target once it is there and the
// moment has come, and waits for the launcher's end.
func (m *machine) killed(t *testing.T, target string, moment time.Duration) {
	cmd := m.launch("sleep", "60")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watch := m.watch(t)
	await.True(t, "a "+target+" to kill", func() bool { return time.Since(start) >= moment && m.kill(target) })
	err := await.Exit(t, cmd)
	t.Logf("the launcher: %v: %s", err, lastLine(out.String(), []string{"error"}))
	if err == nil {
		t.Error("the launch ended well")
	}
	watch()
}

// TestSecondStart: whoever starts a launch's container again, which would give it
// a network without rules, finds that it does not start.
func TestSecondStart(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	m.works(t)
	before := m.traces()
	cmd := m.launch("sh", "-c", "echo up; sleep 60")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watch := m.watch(t)
	out.Read(make([]byte, 3))
	podman := podmanOn(testStorage)
	said, err := m.Try(m.dir, nil, "", "sh", "-c", podman+"restart --time 0 $("+podman+"container ls --quiet)")
	t.Logf("podman restart: %v: %s", err, said)
	if err == nil {
		t.Errorf("the container starts again: %v\n%s", err, said)
	}
	if err := await.Exit(t, cmd); err == nil {
		t.Error("the launch ended well")
	}
	watch()
	m.clean(t, before)
	m.works(t)
}

// victims are how a process is known by its command line.
var victims = map[string]func(cmdline string) bool{
	"launcher":  func(s string) bool { return strings.HasPrefix(s, "git-ward-launch launch ") },
	"service":   func(s string) bool { return strings.Contains(s, " system service --time=0 ") },
	"container": func(s string) bool { return strings.HasPrefix(s, fence.InsideBin+"/"+fence.ForwarderProgram+" ") },
}

// kill says whether there was one.
func (m *machine) kill(target string) bool {
	all := m.processes()
	for pid, line := range all {
		// A child has its parent's command line until it runs its own program.
		if victims[target](line) && !victims[target](all[parent(pid)]) {
			syscall.Kill(pid, syscall.SIGKILL)
			return true
		}
	}
	return false
}

func parent(pid int) (id int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	var state string
	fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &id)
	return id
}

// processes are the command lines of all on the machine but its first process,
// by their number outside.
func (m *machine) processes() map[int]string {
	all := map[int]string{}
	home, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", m.host.Cmd.Process.Pid))
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if pid == m.host.Cmd.Process.Pid || !m.holds(path, home) {
			continue
		}
		if line, err := os.ReadFile(path + "/cmdline"); err == nil && len(line) > 0 { // a zombie has none
			all[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return all
}

// holds tells whether a process is on the machine: in its namespace, or as a
// container's in one below it, whose network is not the tests' own.
func (m *machine) holds(path, home string) bool {
	ns, err := os.Readlink(path + "/ns/pid")
	if err != nil {
		return false
	}
	if ns == home {
		return true
	}
	status, _ := os.ReadFile(path + "/status")
	for line := range strings.Lines(string(status)) {
		// NSpid has one number a namespace, from the outside in; the machine's
		// first process has two.
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return len(strings.Fields(ids)) > 2
		}
	}
	return false
}

// conmonOf finds the container that a conmon is for, reaperOf the run of a
// launcher, which is in the names of its containers.
var (
	conmonOf = regexp.MustCompile(`^\S*conmon .*? -c ([0-9a-f]{64}) `)
	reaperOf = regexp.MustCompile(` launch-reaper ([0-9A-Z]+)`)
)

// watch looks at the network of every payload that runs, until its result is
// called: each must have Ward's rules.
func (m *machine) watch(t *testing.T) func() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	seen := map[string]bool{}
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			for pid, line := range m.processes() {
				for _, own := range [...]*regexp.Regexp{conmonOf, reaperOf} {
					if id := own.FindStringSubmatch(line); id != nil {
						m.ids[id[1]] = true
					}
				}
				ns := fmt.Sprintf("/proc/%d/ns/net", pid)
				id, err := os.Readlink(ns)
				if err != nil || seen[id] || !victims["container"](line) {
					continue
				}
				out, err := exec.Command("nsenter", "--net="+ns, "nft", "list", "chain", "inet", "ward", "output").CombinedOutput()
				if _, gone := os.Readlink(ns); gone != nil {
					continue
				}
				seen[id] = true
				if err != nil || !strings.Contains(string(out), "policy drop") {
					t.Errorf("a container without rules: %v: %s", err, out)
				}
			}
		}
	}()
	return func() { close(stop); <-stopped }
}

// traces are what a launch makes on the machine, and must not leave.
func (m *machine) traces() map[string]bool {
	all := map[string]bool{}
	for _, line := range m.processes() {
		all["process "+line] = true
	}
	root := fmt.Sprintf("/proc/%d/root", m.host.Cmd.Process.Pid)
	mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", m.host.Cmd.Process.Pid))
	for line := range strings.Lines(string(mounts)) {
		// podman keeps its store a mount of its own.
		if at := strings.Fields(line)[4]; at != testStorage+"/root/overlay" {
			all["mount "+at] = true
		}
	}
	for _, pattern := range []string{root + "/run/netns/*", m.dir + "/*"} {
		found, _ := filepath.Glob(pattern)
		for _, path := range found {
			all["file "+strings.TrimPrefix(path, root)] = true
		}
	}
	// The storage and the cgroups are everybody's.
	podman := podmanOn(m.storage)
	listed := m.Run(m.dir, "sh", "-c", podman+"container ls --all --external --format '{{.Names}}'; "+podman+"volume ls --format '{{.Labels}}'")
	for line := range strings.Lines(listed) {
		for id := range m.ids {
			if strings.Contains(line, id) {
				all["podman's "+strings.TrimSpace(line)] = true
			}
		}
	}
	for id := range m.ids {
		found, _ := filepath.Glob("/sys/fs/cgroup/*/libpod_parent/libpod-" + id)
		for _, path := range found {
			all["file "+path] = true
		}
	}
	for line := range strings.Lines(m.host.Sh("iptables-save -t nat | grep 10.88. || true; nft list tables | grep ward || true")) {
		all["network "+strings.TrimSpace(line)] = true
	}
	var links []struct {
		Name string `json:"ifname"`
	}
	m.parse(m.T, "ip -json link", &links)
	for _, link := range links {
		all["network "+link.Name] = true
	}
	loops, _ := exec.Command("losetup", "--noheadings", "--output", "BACK-FILE").Output()
	for line := range strings.Lines(string(loops)) {
		if strings.HasPrefix(line, filepath.Dir(m.Bare)) {
			all["loop "+strings.TrimSpace(line)] = true
		}
	}
	return all
}

// clean wants the machine to be as it was, but for traces that begin with what may stay.
// The reaper is nobody's child here, so its end cannot be waited for.
func (m *machine) clean(t *testing.T, before map[string]bool, stays ...string) {
	t.Helper()
	var left []string
	defer func() {
		if len(left) > 0 {
			t.Logf("left over:\n%s", strings.Join(left, "\n"))
			maps.Copy(before, m.traces()) // said once
		}
	}()
	await.True(t, "nothing is left of the launch", func() bool {
		now := m.traces()
		maps.DeleteFunc(now, func(what string, _ bool) bool {
			return before[what] || slices.ContainsFunc(stays, func(s string) bool { return strings.HasPrefix(what, s) })
		})
		left = slices.Sorted(maps.Keys(now))
		return len(left) == 0
	})
}
