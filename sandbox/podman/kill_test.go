package podman_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/process"
	"git-ward/internal/tier"
	"git-ward/sandbox/podman"
)

// launcher is this test binary as a program that makes containers until it is
// killed.
func launcher() {
	ctx := context.Background()
	e, err := podman.Connect(ctx, podman.Options{Owner: "killed", Storage: os.Getenv("WARD_TEST_LAUNCHER")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s := &podman.Spec{Image: os.Getenv("WARD_TEST_IMAGE"), Command: []string{"sleep", "60"},
		NoNewPrivileges: true, ReadOnlyRoot: true, Network: podman.NetworkNone, Limits: podman.Limits{Processes: 64, Files: 1024}}
	if disk := os.Getenv("WARD_TEST_DISK"); disk != "" {
		s.Mounts = []podman.Mount{{Kind: podman.Disk, Source: disk, Target: "/bot", Size: 16 << 20, Owner: 1000}}
	}
	for made := 0; ; made++ {
		if made == 1 {
			fmt.Println("ready") // what it does works here
		}
		c, err := e.Create(ctx, s)
		var pid int
		if err == nil {
			pid, err = c.Init(ctx)
		}
		if err == nil && made > 0 && os.Getenv("WARD_TEST_HOLD") != "" {
			c.Attach(ctx, podman.Streams{Stdout: os.Stderr})
			fmt.Println(pid)
			select {}
		}
		if err == nil {
			err = c.Start(ctx)
		}
		if err != nil {
			fmt.Println(err)
			e.Close()
			os.Exit(1)
		}
		c.Remove(ctx)
	}
}

// victims are whom TestKill kills, by SIGKILL: the launcher, its reaper, which is its child,
// and podman's service, which is the reaper's.
var victims = []string{"launcher", "reaper", "service", "launcher service", "launcher reaper", "launcher reaper service"}

// TestKill kills a launcher and what works for it at any moment of its containers' making and
// end: nothing of it runs soon after, and nothing stays in podman.
func TestKill(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "killed")
	name := spec(t, "true").Image
	seed := tier.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, victim := range victims {
		moment := time.Duration(random.IntN(400)) * time.Millisecond
		t.Run(fmt.Sprintf("%s after %v of seed %d", victim, moment, seed), func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "WARD_TEST_LAUNCHER="+storage, "WARD_TEST_IMAGE="+name)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewReader(out)
			if line, err := said.ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err)
			}
			time.Sleep(moment) // any moment of its containers' making and end: that is the test
			tree := family(cmd.Process.Pid)
			for _, who := range strings.Fields(victim) {
				if tree[who] == 0 {
					rest, _ := io.ReadAll(said)
					t.Fatalf("no %s: %v: %s", who, tree, rest)
				}
				syscall.Kill(tree[who], syscall.SIGKILL)
			}
			io.Copy(io.Discard, said)
			await.Exit(t, cmd)
			awaitEnd(t, tree["reaper"])
			awaitEnd(t, tree["guard"])
			if n, err := e.Sweep(t.Context()); n != 0 || err != nil {
				t.Errorf("swept %d, %v", n, err)
			}
		})
	}
}

// TestKillBeforeStart kills between a container's making and its start, when nothing runs in
// it that would end it. Whoever is left of launcher, reaper and guard removes it; where all
// are gone the next launch does.
func TestKillBeforeStart(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "killed")
	name := spec(t, "true").Image
	for victim, left := range map[string]int{"launcher": 0, "reaper": 0, "guard launcher": 0, "launcher reaper": 0, "launcher reaper service": 0, "conmon": 0, "guard launcher service": 0, "guard launcher reaper": 1} {
		t.Run(victim, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "WARD_TEST_LAUNCHER="+storage, "WARD_TEST_IMAGE="+name, "WARD_TEST_HOLD=1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewReader(out)
			said.ReadString('\n')
			line, _ := said.ReadString('\n')
			first, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				rest, _ := io.ReadAll(said)
				t.Fatal(line, string(rest))
			}
			tree := family(cmd.Process.Pid)
			made, _ := process.Read(first)
			tree["conmon"] = made.Parent
			start := time.Now()
			syscall.Kill(tree["reaper"], syscall.SIGSTOP) // it hears of all ends at once, and of any first
			for _, who := range strings.Fields(victim) {
				if tree[who] == 0 {
					t.Fatalf("no %s: %v", who, tree)
				}
				syscall.Kill(tree[who], syscall.SIGKILL)
			}
			syscall.Kill(tree["reaper"], syscall.SIGCONT)
			if left == 0 && victim != "reaper" { // a launcher that lives ends what it made itself
				awaitEnd(t, first)
				t.Logf("its process was gone after %v", time.Since(start))
			}
			cmd.Process.Kill()
			await.Exit(t, cmd)
			for _, who := range []string{"reaper", "guard"} {
				awaitEnd(t, tree[who])
			}
			if n, err := e.Sweep(t.Context()); n != left || err != nil {
				t.Errorf("swept %d, %v, want %d", n, err, left)
			}
			awaitEnd(t, first)
		})
	}
}

// TestKillWhileMade kills all at once while podman makes a container, until one is in the storage
// alone, where podman knows no label of it: the next launch of the same owner removes that.
func TestKillWhileMade(t *testing.T) {
	tier.Full(t, "it starts podman")
	e := connect(t, "killed")
	name := spec(t, "true").Image
	listed := func() string {
		args := []string{"--root", storage + "/root", "--runroot", storage + "/run", "--tmpdir", storage + "/tmp", "--storage-driver", "overlay",
			"ps", "--all", "--external", "--format", "{{.Status}} {{.Names}}"}
		out, err := exec.Command("podman", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for try := 0; ; try++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WARD_TEST_LAUNCHER="+storage, "WARD_TEST_IMAGE="+name)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		bufio.NewReader(out).ReadString('\n')
		tree := family(cmd.Process.Pid)
		await.True(t, "a container in the making", func() bool {
			found, _ := filepath.Glob(storage + "/root/overlay-containers/*/userdata")
			return len(found) > 0
		})
		for _, who := range []string{"guard", "launcher", "reaper", "service"} {
			syscall.Kill(tree[who], syscall.SIGKILL)
		}
		await.Exit(t, cmd)
		halfMade := strings.Contains(listed(), "Storage git-ward-killed-")
		if _, err := e.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		if left := listed(); left != "" {
			t.Fatalf("after Sweep: %s", left)
		}
		if halfMade {
			t.Logf("killed %d times", try+1)
			return
		}
		if try == 200 {
			t.Fatal("no kill was while podman made one")
		}
	}
}

// TestKillWithDisk kills all at once that could remove a container's volume, whose name no later
// launch meets again: the next one of the same owner removes it, and no other owner's.
func TestKillWithDisk(t *testing.T) {
	tier.Full(t, "it starts podman")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: an ordinary user mounts no file system")
	}
	e, name := connect(t, "killed"), spec(t, "true").Image
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WARD_TEST_LAUNCHER="+storage, "WARD_TEST_IMAGE="+name, "WARD_TEST_HOLD=1", "WARD_TEST_DISK="+filepath.Join(t.TempDir(), "bot.img"))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	said.ReadString('\n')
	if line, err := said.ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	tree := family(cmd.Process.Pid)
	for _, who := range []string{"guard", "launcher", "reaper", "service"} {
		syscall.Kill(tree[who], syscall.SIGKILL)
	}
	await.Exit(t, cmd)
	volumes := func() string {
		args := []string{"--root", storage + "/root", "--runroot", storage + "/run", "--tmpdir", storage + "/tmp", "--storage-driver", "overlay", "volume", "ls", "--quiet"}
		out, err := exec.Command("podman", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if volumes() == "" {
		t.Fatal("it leaves no volume")
	}
	for _, other := range []string{"killed-x", "kill"} {
		if _, err := connect(t, other).Sweep(t.Context()); err != nil || volumes() == "" {
			t.Errorf("the sweep of %s: %q, %v", other, volumes(), err)
		}
	}
	if n, err := e.Sweep(t.Context()); n != 1 || err != nil || volumes() != "" {
		t.Errorf("swept %d, %v; left: %q", n, err, volumes())
	}
}

// family is a launcher, its reaper, the reaper's guard and podman's service, by whose child
// each is.
func family(launcher int) map[string]int {
	tree := map[string]int{"launcher": launcher}
	for _, p := range process.All() {
		if p.Parent == launcher {
			tree["reaper"] = p.PID
		}
	}
	for _, p := range process.All() {
		if p.Parent != tree["reaper"] {
			continue
		}
		switch exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID)); filepath.Base(exe) {
		case "podman":
			tree["service"] = p.PID
		case filepath.Base(os.Args[0]):
			tree["guard"] = p.PID
		}
	}
	return tree
}

// awaitEnd waits for the end of a process that is nobody's child here, which the kernel tells
// whoever holds a handle of it.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has ended
	}
	defer unix.Close(fd)
	left := func() int { return int(time.Until(await.Deadline(t)).Milliseconds()) }
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, left())
	for err == unix.EINTR { // a signal of Go's own
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, left())
	}
	if n != 1 || err != nil {
		t.Errorf("process %d goes on: %v", pid, err)
	}
}
