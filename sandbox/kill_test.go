package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
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
	"git-ward/sandbox/podman"
)

// TestKills kills the launcher, podman's service, the reaper with its guard or the container,
// and several at once, with SIGKILL, at random moments of real launches and while the network
// is made. No container is ever seen without rules, the next launch works, and after it
// nothing is left, and nothing of others is gone. WARD_KILLS says how often, once by default.
func TestKills(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	random := rand.New(rand.NewPCG(tier.Seed(t), 1))
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv("WARD_KILLS")); err == nil {
		rounds = n
	}
	m.settles(t)
	// Somebody else's, named as podman names its own: nobody is in them, and they stay.
	m.sh("ip netns add netns-theirs; : >/run/netns/netns-empty")
	theirs := func() string { return m.sh("grep -o ' /run/netns/netns-.* - .*' /proc/self/mountinfo; ls /run/netns") }
	before, was := m.traces(), theirs()
	for i := range rounds {
		for _, mode := range []string{"public", "allowlist"} {
			m.set(`[egress] mode = "` + mode + `"`)
			targets := []string{"launcher", "service", "container", "reaper", "launcher service reaper"}
			if mode == "public" { // whose network podman makes by netavark
				targets = append(targets, "netavark service", "netavark launcher service", "netavark launcher service reaper")
			}
			for _, target := range targets {
				moment := time.Duration(random.IntN(1000)) * time.Millisecond
				if strings.Contains(target, "netavark") { // which is there for a moment of its own
					moment = 0
				}
				t.Run(fmt.Sprintf("%d %s %s at %v", i, mode, target, moment), func(t *testing.T) {
					m.killed(t, target, moment)
					if target == "launcher" {
						m.clean(t, before, "network ", "cgroup ", "file "+m.dir, "file "+filepath.Dir(m.Bare)) // the reaper's work
					}
					if target != "container" {
						// What stays to the next launch: podman's bridge without a
						// container, the launcher's group, what it was just writing, and
						// the sockets of a launcher before it had a reaper.
						m.works(t)
					}
					if strings.Contains(target, "service") {
						m.allows(t, before)
					}
					m.clean(t, before)
				})
			}
			m.works(t)
			m.clean(t, before)
		}
	}
	if now := theirs(); now != was {
		t.Errorf("of somebody else's networks there was\n%s\nand is\n%s", was, now)
	}
	m.Fsck()
}

// settles has podman and maintenance make what each makes once and keeps: maintenance counts what
// agents pushed, once in a while.
func (m *machine) settles(t *testing.T) {
	t.Helper()
	m.works(t)
	m.Run(m.Bare, "git-ward", "maintain")
}

// works wants a launch to do its work.
func (m *machine) works(t *testing.T) {
	t.Helper()
	if out, err := m.in("", "echo it works"); err != nil || !strings.Contains(out, "it works\n") {
		t.Fatalf("the next launch: %v\n%s", err, out)
	}
}

// killed starts a launch, kills what is called target once it is there and the
// moment has come, and waits for the launcher's end. It ends well only where there was no
// container yet, as podman is then started again, and only with its payload's work done.
func (m *machine) killed(t *testing.T, target string, moment time.Duration) {
	passes := strings.Contains(target, "netavark") // netavark may have ended before we look; then we launch again
	payload := "sleep 60; echo the work is done"
	if passes {
		payload = "echo the work is done"
	}
	var cmd *exec.Cmd
	var out bytes.Buffer
	begin := func() {
		out.Reset()
		cmd = m.launch("sh", "-c", payload)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	start := time.Now()
	watch := m.watch(t)
	contained := false
	await.True(t, "a "+target+" to kill", func() bool {
		if time.Since(start) < moment {
			return false
		}
		if passes && !alive(cmd.Process.Pid) {
			if err := await.Exit(t, cmd); err != nil {
				t.Errorf("a launch that nobody killed: %v\n%s", err, out.String())
			}
			begin()
		}
		all := m.processes()
		contained = slices.ContainsFunc(slices.Collect(maps.Values(all)), victims["container"])
		return kill(all, target)
	})
	err := await.Exit(t, cmd)
	t.Logf("the launcher: %v: %s", err, lastLine(out.String(), []string{"error"}))
	if done := strings.Contains(out.String(), "the work is done\n"); err == nil && (contained || !done) {
		t.Errorf("the launch ended well: there was a container: %v, its work is done: %v", contained, done)
	}
	watch()
}

// TestSecondStart: whoever starts a launch's container again, which would give it
// a network without rules, finds that it does not start.
func TestSecondStart(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	m.settles(t)
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
	command := podmanOn(testStorage)
	said, err := m.Try(m.dir, nil, "", "sh", "-c", command+"restart --time 0 $("+command+"container ls --quiet)")
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
	"netavark":  func(s string) bool { return strings.Contains(s, "/netavark ") },
	"reaper":    func(s string) bool { return strings.Contains(s, " "+podman.ReaperVerb+" ") }, // and its guard
	"service":   func(s string) bool { return strings.Contains(s, " system service --time=0 ") },
	"container": func(s string) bool { return strings.HasPrefix(s, fence.InsideBin+"/"+fence.ForwarderProgram+" ") },
}

// kill kills all of the targets among the processes at once, and says whether there was one of
// each.
func kill(all map[int]string, targets string) bool {
	var found []int
	for target := range strings.FieldsSeq(targets) {
		before := len(found)
		for pid, line := range all {
			// A child has its parent's command line until it runs its own program.
			if victims[target](line) && (target == "reaper" || !victims[target](all[parent(pid)])) {
				found = append(found, pid)
			}
		}
		if len(found) == before {
			return false
		}
	}
	for _, pid := range found {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return true
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

// traces are what is to be seen on the machine, a line a thing; what there are two of has two.
// It knows no launch: what one leaves is the difference.
func (m *machine) traces() map[string]bool {
	all := map[string]bool{}
	add := func(kind, what string) {
		what = kind + " " + strings.TrimSpace(what)
		for n, one := 2, what; all[what]; n++ {
			what = fmt.Sprintf("%s, number %d", one, n)
		}
		all[what] = true
	}
	for _, line := range m.processes() {
		add("process", line)
	}
	proc := fmt.Sprintf("/proc/%d/", m.host.Cmd.Process.Pid)
	for _, fields := range table(proc + "mountinfo") {
		add("mount", fields[4])
	}
	for _, of := range []string{"unix", "tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		for _, fields := range table(proc + "net/" + of)[1:] {
			if of != "unix" || len(fields) > 7 { // the others are their processes'
				add("socket", of+" "+fields[map[bool]int{true: 7, false: 1}[of == "unix"]])
			}
		}
	}
	for _, dir := range []string{"/run", "/dev/shm", "/var/lib/cni", m.storage + "/run", m.storage + "/tmp", m.dir, m.Bare + "/ward", m.state()} {
		m.below(add, proc+"root", dir, 20)
	}
	// The storage is everybody's who has its lock, one after the other.
	m.below(add, "", m.storage+"/root", 3)
	m.listed(add)
	return all
}

// below adds the files of a directory, so many levels of them.
func (m *machine) below(add func(kind, what string), root, dir string, levels int) {
	filepath.WalkDir(root+dir, func(path string, d fs.DirEntry, err error) error {
		path = strings.TrimPrefix(path, root)
		add("file", path)
		if err == nil && d.IsDir() && strings.Count(strings.TrimPrefix(path, dir), "/") >= levels {
			return fs.SkipDir
		}
		return nil // some goes meanwhile
	})
}

// listed adds what programs know: of the network, of podman and of the kernel's groups and loops.
func (m *machine) listed(add func(kind, what string)) {
	network := "nft --stateless list ruleset; iptables-save; ip6tables-save; ip -brief link; ip -brief address; ip route show table all; ip -6 route show table all"
	for line := range strings.Lines(m.host.Sh("(" + network + ") 2>&1 | sed 's/^#.*//; s/\\[[0-9:]*\\]//'")) {
		add("network", line)
	}
	command := podmanOn(m.storage)
	of := command + "container ls --all --external --format '{{.Names}}'; " + command + "volume ls --format '{{.Name}}'; " + command + "network ls --format '{{.Name}}'"
	for line := range strings.Lines(m.Run(m.dir, "sh", "-c", of)) {
		add("podman", line)
	}
	loops, _ := exec.Command("losetup", "--noheadings", "--output", "BACK-FILE").Output()
	for line := range strings.Lines(string(loops)) {
		if strings.HasPrefix(line, filepath.Dir(m.Bare)) {
			add("loop", line)
		}
	}
	// Groups are everybody's. What somebody else's podman makes now has processes, and what his
	// launches make has their name: theirs have none in the group itself, and a killed one's stays.
	owner := m.owner()
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case strings.HasSuffix(path, "/libpod_parent/conmon"):
			return nil // podman makes it once, for whoever's containers
		case strings.HasPrefix(name, "ward-") && !strings.Contains(name, owner):
			return fs.SkipDir
		}
		if members, err := os.ReadFile(path + "/cgroup.procs"); err == nil && len(members) == 0 {
			add("cgroup", path)
		}
		return nil
	})
}

// allows takes what a podman that was killed keeps into what may be there: in its storage, and a
// file in TMPDIR that has a number for a name, as no file of Ward's has.
func (m *machine) allows(t *testing.T, before map[string]bool) {
	stays := m.unreferenced(t)
	temporary := regexp.MustCompile("^file " + regexp.QuoteMeta(m.dir) + "/[0-9]+$")
	for what := range m.traces() {
		if begins(what, stays) || temporary.MatchString(what) {
			before[what] = true
		}
	}
}

// unreferenced are what podman, killed between two writes of its own, keeps in its storage, as
// traces has it: the file it was writing, and a layer that no image and no container names.
// Podman's own repair removes it; nothing in it says whose it was, so Ward does not.
func (m *machine) unreferenced(t *testing.T) (stays []string) {
	root := m.storage + "/root/"
	named := map[string]bool{}
	type record struct{ ID, Layer, Parent string }
	records := func(pattern string) (all []record) {
		paths, _ := filepath.Glob(root + pattern)
		for _, path := range paths {
			var some []record
			data, err := os.ReadFile(path)
			if err == nil {
				err = json.Unmarshal(data, &some)
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, some...)
		}
		return all
	}
	for _, r := range append(records("overlay-images/images.json"), records("overlay-containers/*containers.json")...) {
		named[r.Layer] = true
	}
	layers := records("overlay-layers/*layers.json")
	for _, l := range layers {
		named[l.Parent] = true
	}
	for _, l := range layers {
		if dir := root + "overlay/" + l.ID; !named[l.ID] {
			link, _ := os.ReadFile(dir + "/link")
			stays = append(stays, "file "+dir, "file "+root+"overlay/l/"+string(link))
			t.Logf("podman keeps a layer that nothing names: %s", l.ID)
		}
	}
	for _, dir := range []string{"images", "containers", "layers"} {
		stays = append(stays, "file "+root+"overlay-"+dir+"/.tmp-")
	}
	return stays
}

// table are the fields of a file's lines.
func table(path string) (rows [][]string) {
	data, _ := os.ReadFile(path)
	for line := range strings.Lines(string(data)) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
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
			return before[what] || begins(what, stays)
		})
		left = slices.Sorted(maps.Keys(now))
		return len(left) == 0
	})
}

func begins(what string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(what, prefix) })
}
