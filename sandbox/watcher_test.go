package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/process"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/sandbox/fence"
)

// enemy is an agent that tries what it may not do to its watcher, writes down what
// was allowed, and then works on.
const enemy = `W=$(grep -l '^Name:.ward-watcher' /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3)
test -n "$W" || echo "no watcher" >>/bot/allowed
try() { if (eval "$1") >/dev/null 2>&1; then echo "$1" >>/bot/allowed; fi; }
try 'kill -9 $W'; try 'kill -STOP $W'; try 'kill -0 $W'; try 'kill -9 1'
try 'head -c 1 /proc/$W/mem'; try 'cat /proc/$W/environ'; try 'readlink /proc/$W/fd/0'; try 'cat /proc/$W/maps'
try 'echo x >/bot/logs/watcher.log'; try 'echo x >>/bot/logs/errors.log'; try 'echo x >/bot/.watcher/state.json'
try 'rm -f /bot/logs/watcher.log'; try 'mv /bot/logs /bot/l'; try 'rm -f /bot/logs/bootstrap.log'; try 'ln -sf /etc/passwd /bot/logs/bootstrap.log'
try 'rmdir /bot/.signal'; try 'mv /bot/.watcher /bot/w'; try 'cat /bot/.watcher/spare'; try 'renice -n -1 $$'
try 'echo x >>/bot/logs/bootstrap.log'; try 'ls /bot/.watcher'; try 'echo x >>/bot/.watchers-gitconfig'; try 'rm -f /bot/.watchers-gitconfig'
try 'ls /ward/watcher'; try '/ward/bin/ward-agent connect /ward/watcher/sock </dev/null | grep -q .'
for to in /proc/self/fd/1 /proc/self/fd/2 /proc/1/fd/1 /proc/$W/fd/1; do echo "ward-watcher: booted $(git --git-dir=/mnt/remote rev-parse main~1)" >"$to"; done 2>/dev/null
echo "$(date -u +%FT%TZ) SUCCESS main $WARD_COMMIT" >>/bot/logs/bootstrap.log
mkdir -p /bot/.signal/bootstrap/a/b; chmod 500 /bot/.signal/bootstrap/a/b; chmod 777 /bot/.signal/bootstrap
while [ -n "$(ls -A /bot/.signal)" ]; do sleep 0.1; done
grep -q 'CapPrm:.0000000000000000' /proc/self/status || echo capabilities >>/bot/allowed
echo tried >/bot/tried
`

const (
	enter = "read -r word <&3; echo \"SUCCESS $WARD_BRANCH $WARD_COMMIT $word\" >&3\n"
	stay  = "while [ ! -e /bot/.signal/bootstrap ]; do sleep 0.1; done\n"
	// starving takes all processes, answers no signal, and stops what it may.
	starving = "trap '' TERM\nbomb() { bomb | bomb & }\nbomb\nwhile :; do kill -STOP $(ls /proc | grep '^[0-9]') 2>/dev/null; done\n"
	filling  = "dd if=/dev/zero of=/bot/fill bs=1M 2>/dev/null\nmkdir -p /bot/main/remote/.git/x; dd if=/dev/zero of=/bot/home/fill bs=1k 2>/dev/null\nexit 1\n"
)

// toBeWatched has something to do for an agent, which does it not.
const toBeWatched = "# COMMS\n\n## Directives\n\n### D-1: something\n\n- [ ] it is there (`true`)\n\n## Reports\n"

// inFence is a launched watcher, seen from the host.
type inFence struct {
	*gittest.Pair
	*exec.Cmd
	out bytes.Buffer
}

// watched launches a watcher whose main is an agent that is its enemy, on a disk of
// 128 MiB with 200 processes. Another agent is pushed to a branch before.
func watched(t *testing.T, branch, other string) (f *inFence, main string) {
	t.Helper()
	p := fenced(t)
	f = &inFence{Pair: p}
	check := "2s" // main has held after so long
	if branch != "" {
		check = "10m" // the other ends sooner, however slow the machine is: a failed upgrade
	}
	f.settings(`run = ["sh", "agent.sh"]`, `probation = false`, `start_timeout = "10m"`, fmt.Sprintf("check = %q", check), `[egress] mode = "allowlist"`, `[sandbox] processes = 200`, `state_size = 134_217_728`)
	push := func(branch, agent string) {
		p.Git("checkout", "-q", "-B", branch, "origin/main")
		p.Commit("agent.sh", agent)
		p.Git("push", "-q", "--force", "origin", branch)
	}
	p.Commit("COMMS.md", toBeWatched)
	p.Git("push", "-q", "origin", "HEAD:main")
	push("main", enemy+enter+stay)
	main = strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	if branch != "" {
		push(branch, enter+other)
	}
	f.Cmd = f.launch("--model", "script")
	f.Stdout, f.Stderr = &f.out, &f.out
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Process.Signal(syscall.SIGTERM)
		f.Wait()
		if t.Failed() {
			t.Logf("%s", f.out.String()[max(0, f.out.Len()-6000):])
		}
	})
	f.await("SUCCESS main")
	return f, main
}

// launch is a launch of the test's, with its own state.
func (f *inFence) launch(args ...string) *exec.Cmd {
	return f.Command(f.Work, nil, "git-ward", append([]string{"launch", "--bare", f.Bare, "--state", filepath.Join(filepath.Dir(f.Bare), "state")}, args...)...)
}

// TestWatcher is the watcher as it is run: the fence's first process beside its
// forwarder, a user of its own, with an agent that is its enemy (BOOT-2).
func TestWatcher(t *testing.T) {
	tier.Full(t, "it launches containers")
	f, main := watched(t, "", "")
	p := f.Pair
	f.until("the attacks", func() bool { return f.read("tried") != "" })
	if allowed := f.read("allowed"); allowed != "" {
		t.Errorf("the agent may:\n%s", allowed)
	}
	f.until("last-good", func() bool {
		return strings.TrimSpace(p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", boot.LastGood)) == main
	})
	f.until("the directory that was a signal is told, by the watcher itself", func() bool {
		return strings.Contains(p.Run(p.Bare, "git", "show", "main:COMMS.md"), "malformed signal `bootstrap`") &&
			strings.Contains(p.Run(p.Bare, "git", "log", "--format=%an", "main"), "Ward Watcher\n") &&
			strings.Contains(p.Run(p.Bare, "git", "log", "--notes=audit", "--format=%N", "main"), `"principal":"watcher"`)
	})
	if moved := p.Run(p.Bare, "git", "reflog", "--format=%H", boot.LastGood); strings.TrimSpace(moved) != main {
		t.Errorf("the agent moved last-good by a line: %s", moved)
	}
	f.kill("agent.sh")
	f.await("SUCCESS main", "SUCCESS main")
	f.kill("ward-watcher")
	f.await("SUCCESS main", "SUCCESS main", "BOOTSTRAPPING main", "SUCCESS main")
	p.Fsck()
}

// TestWatcherStarved: an agent that takes every process and stops what it may does not
// keep the watcher from the next signal.
func TestWatcherStarved(t *testing.T) {
	tier.Full(t, "it launches containers, and waits for an agent that does not end when it should")
	f, _ := watched(t, "agent/bomb", starving)
	f.signal("agent/bomb")
	f.await("SUCCESS main", "SUCCESS agent/bomb")
	f.until("it has what it can get", func() bool { return strings.Contains(f.read("logs/errors.log"), "Cannot fork") })
	f.signal("main")
	f.await("SUCCESS agent/bomb", "BOOTSTRAPPING main", "SUCCESS main")
	f.Fsck()
}

// TestWatcherFilled: an agent that fills its disk gives way to main, with room again.
func TestWatcherFilled(t *testing.T) {
	tier.Full(t, "it launches containers")
	f, _ := watched(t, "agent/fill", filling)
	f.signal("agent/fill")
	f.await("SUCCESS agent/fill", "BOOTSTRAPPING main", "SUCCESS main")
	f.until("the fill is gone", func() bool { return !f.exists("fill") || f.free() > 10<<20 })
	f.Fsck()
}

// TestWatcherFindsTraps: what somebody left in the watcher's places does not stop it.
func TestWatcherFindsTraps(t *testing.T) {
	tier.Full(t, "it launches containers")
	p := fenced(t)
	f := &inFence{Pair: p}
	f.settings(`run = ["sh", "agent.sh"]`, `probation = false`, `start_timeout = "10m"`, `state_size = 134_217_728`)
	p.Commit("COMMS.md", toBeWatched)
	p.Commit("agent.sh", enter+"exit 0\n")
	p.Git("push", "-q", "origin", "main")
	for _, cmd := range []*exec.Cmd{
		f.launch("--", "sh", "-c", "mkdir /bot/logs /bot/.watcher; ln -s /etc /bot/.signal; mkfifo /bot/logs/bootstrap.log"),
		f.launch("--model", "script", "--once"),
	} {
		if out, err := await.Output(t, cmd); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if good := p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", boot.LastGood); strings.TrimSpace(good) != strings.TrimSpace(p.Git("rev-parse", "main")) {
		t.Errorf("last-good is %q", good)
	}
}

// TestStopsWhatPodmanForgot: another podman with the same storage and another /run takes
// the machine for one that was started anew and resets every container's state. Of such a
// one the launcher's podman says that it is stopped, and it runs on: the launcher ends it
// all the same, and ends.
func TestStopsWhatPodmanForgot(t *testing.T) {
	tier.Full(t, "it launches containers")
	f, _ := watched(t, "", "")
	const other = `mount --make-rprivate /
		for d in /run /dev/shm %[1]s/run %[1]s/tmp; do mount -t tmpfs tmpfs $d; done
		%[2]s container ls --all --format '{{.State}}'`
	if out := f.Pair.Run(f.Work, "unshare", "--mount", "sh", "-ec", fmt.Sprintf(other, testStorage, podmanOn(testStorage))); !strings.Contains(out, "Created") {
		t.Fatalf("the other podman has not reset it: %s", out)
	}
	agent := f.find("agent.sh")
	f.Process.Signal(syscall.SIGTERM)
	f.Wait()
	f.until("the agent has ended", func() bool { return !alive(agent) })
}

// watcher is the watcher's process on the host, 0 while there is none.
func (f *inFence) watcher() int { return f.find("ward-watcher", "--agent-user") }

// find is a process of this launch whose command line holds all words.
func (f *inFence) find(words ...string) int {
	for _, p := range process.All() {
		if holds(p.PID, words...) && f.ours(p.PID) {
			return p.PID
		}
	}
	return 0
}

// holds reports whether a process is one of the watcher's or the agent's, and not on its
// way there, whose command line has all words.
func holds(pid int, words ...string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || bytes.Contains(line, []byte("ward-inside")) || bytes.Contains(line, []byte("\x00limited\x00")) {
		return false
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !bytes.Contains(line, []byte(w)) })
}

// ours reports whether a process sees this test's repository as its remote.
func (f *inFence) ours(pid int) bool {
	inside, err := os.Stat(fmt.Sprintf("/proc/%d/root%s/HEAD", pid, fence.InsideBare))
	outside, err2 := os.Stat(filepath.Join(f.Bare, "HEAD"))
	return err == nil && err2 == nil && os.SameFile(inside, outside)
}

// state is a path of the state directory as the host reaches it.
func (f *inFence) state(name string) string {
	return fmt.Sprintf("/proc/%d/root/bot/%s", f.watcher(), name)
}

// read does not wait for a pipe that the agent has put in a file's place.
func (f *inFence) read(name string) string {
	file, err := os.OpenFile(f.state(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, _ := io.ReadAll(file)
	return string(data)
}

func (f *inFence) exists(name string) bool {
	_, err := os.Lstat(f.state(name))
	return err == nil
}

func (f *inFence) free() int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(f.state("."), &s) != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}

// signal writes a bootstrap signal.
func (f *inFence) signal(branch string) {
	f.T.Helper()
	if err := os.WriteFile(f.state(".signal/.b"), []byte(branch+"\n"), 0o644); err != nil {
		f.T.Fatal(err)
	}
	if err := os.Rename(f.state(".signal/.b"), f.state(".signal/bootstrap")); err != nil {
		f.T.Fatal(err)
	}
}

// kill is kill -9 of the first process whose command line holds a word, the one that its
// parent waits for, as soon as there is one: an agent that just ended is started again.
func (f *inFence) kill(word string) {
	f.T.Helper()
	f.until(word+" is killed", func() bool {
		pid := f.find(word)
		for p, ok := process.Read(pid); ok && holds(p.Parent, word); p, ok = process.Read(pid) {
			pid = p.Parent
		}
		return pid != 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
	})
}

// await waits for the log to hold these events, in this order.
func (f *inFence) await(want ...string) {
	f.T.Helper()
	f.until(strings.Join(want, ", "), func() bool {
		left := want
		for line := range strings.Lines(f.read("logs/bootstrap.log")) {
			e, err := boot.Parse(strings.TrimSuffix(line, "\n"))
			if err == nil && len(left) > 0 && string(e.Event)+" "+e.Branch == left[0] {
				left = left[1:]
			}
		}
		return len(left) == 0
	})
}

func (f *inFence) until(what string, is func() bool) {
	f.T.Helper()
	await.True(f.T, what, is)
}

// settings changes lines of the repository's.
func (f *inFence) settings(lines ...string) {
	f.T.Helper()
	(&machine{Pair: f.Pair}).set(lines...)
}
