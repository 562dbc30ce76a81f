package verifier_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"git-ward/internal/gittest"
	"git-ward/sandbox/inside"
	"git-ward/sandbox/verifier"
)

// A test here plays a verifier's pod, with processes, System V's objects and places of its own.
// stageVar says how far it is; the users are nobody's on this machine.
const (
	stageVar = "WARD_TEST_POD"
	podUser  = 64321 // of the commands
	podFirst = 64322 // who runs them
	podDir   = "/tmp/pod"
)

func TestMain(m *testing.M) {
	stages := map[string]func() error{"made": makePod, "narrowed": judgeInPod, "open": judgeInPod, "leave": leaveIPC, "look": lookForIPC}
	stage := stages[os.Getenv(stageVar)]
	if len(os.Args) == 2 && stages[os.Args[1]] != nil { // a command, which has no variables but its own
		stage = stages[os.Args[1]]
	}
	if stage == nil {
		os.Exit(m.Run())
	}
	if err := stage(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// makePod has places of its own for all that commands can write to, and goes on as a pod's first
// process, with a pod's rights.
func makePod() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	path := ""
	for _, name := range []string{"git", "sh"} {
		found, err := exec.LookPath(name)
		if err == nil {
			found, err = filepath.EvalSymlinks(found) // PATH may lead to links below /tmp
		}
		if err != nil {
			return err
		}
		path += filepath.Dir(found) + ":"
	}
	os.Setenv("PATH", path+"/usr/bin:/bin")
	for _, at := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		if err := unix.Mount("tmpfs", at, "tmpfs", 0, "mode=1777"); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Mkdir(podDir, 0o755), gittest.WriteProgram(podDir+"/test", string(self)), os.Chdir(podDir)); err != nil {
		return err
	}
	for _, args := range []string{"init -q --bare repo", "-C repo -c user.name=a -c user.email=a@b commit-tree -m x 4b825dc642cb6eb9a060e54bf8d69288fbee4904"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("git %s: %w", args, err)
		}
		if err := os.WriteFile(podDir+"/commit", out, 0o644); err != nil {
			return err
		}
	}
	if os.Args[1] == "open" {
		os.Setenv(stageVar, "open")
		return unix.Exec("/proc/self/exe", os.Args[:1], os.Environ())
	}
	runtime.LockOSThread()
	const rights = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	sets := [2]unix.CapUserData{{Effective: rights, Permitted: rights}}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return err
	}
	os.Setenv(stageVar, "narrowed")
	return inside.Become(podFirst, nil)
}

// judgeInPod has one command leave what it can, and another one look for it.
func judgeInPod() error {
	commit, err := os.ReadFile(podDir + "/commit")
	if err != nil {
		return err
	}
	u := &verifier.User{ID: podUser, Limits: verifier.Limits{Time: time.Minute, Output: 1 << 20}}
	for _, what := range []string{"leave", "look"} {
		o, err := u.Run(context.Background(), verifier.Job{Repo: podDir + "/repo", Commit: strings.TrimSpace(string(commit)), Line: podDir + "/test " + what, Keep: true})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if o.Exit != 0 {
			text, _ := json.Marshal(o)
			return fmt.Errorf("%s: %s", what, text)
		}
	}
	return nil
}

// ipcKey is that of what a command leaves, and made makes one of it, or finds it.
const ipcKey = 0x77617264

var made = map[string]func(flags uintptr) (uintptr, syscall.Errno){
	"shared memory": func(flags uintptr) (uintptr, syscall.Errno) {
		id, _, errno := unix.RawSyscall(unix.SYS_SHMGET, ipcKey, 4096, flags)
		return id, errno
	},
	"message queue": func(flags uintptr) (uintptr, syscall.Errno) {
		id, _, errno := unix.RawSyscall(unix.SYS_MSGGET, ipcKey, flags, 0)
		return id, errno
	},
	"semaphores": func(flags uintptr) (uintptr, syscall.Errno) {
		id, _, errno := unix.RawSyscall(unix.SYS_SEMGET, ipcKey, 1, flags)
		return id, errno
	},
}

func leaveIPC() error {
	const create = 0o1000 | 0o666 // IPC_CREAT
	var ids = map[string]uintptr{}
	for what, get := range made {
		id, errno := get(create)
		if errno != 0 {
			return fmt.Errorf("%s: %w", what, errno)
		}
		ids[what] = id
	}
	// A maker may give an object away, and stays its maker.
	var is [64]uint64
	const stat, set = 2, 1
	if _, _, errno := unix.RawSyscall(unix.SYS_SHMCTL, ids["shared memory"], stat, uintptr(unsafe.Pointer(&is))); errno != 0 {
		return errno
	}
	owner := (*[4]uint32)(unsafe.Pointer(&is)) // struct ipc64_perm: key, uid, gid, cuid
	if owner[1] != podUser {
		return fmt.Errorf("it is of user %d", owner[1])
	}
	owner[1] = 12345
	if _, _, errno := unix.RawSyscall(unix.SYS_SHMCTL, ids["shared memory"], set, uintptr(unsafe.Pointer(&is))); errno != 0 {
		return errno
	}
	name := [8]byte{'h', 'e', 'l', 'd'}
	if _, _, errno := unix.RawSyscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&name)), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0, 0); errno != unix.ENOSYS {
		return fmt.Errorf("a queue by a name: %w", errno)
	}
	return nil
}

func lookForIPC() error {
	for what, get := range made {
		if _, errno := get(0); errno != unix.ENOENT {
			return fmt.Errorf("the last command's %s: %w", what, errno)
		}
	}
	return nil
}

// stage runs a test's own pod up to its end.
func stage(t *testing.T, args ...string) error {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root makes namespaces and other users' processes")
	}
	var said bytes.Buffer
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), stageVar+"=made"), &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the signal follows the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); errors.Is(err, unix.EPERM) {
		t.Skip("SKIPPED: this machine gives root no namespaces")
	} else if err != nil {
		return fmt.Errorf("%w: %s", err, &said)
	}
	return nil
}

// TestNoIPCBetweenCommands: no command of a pod finds System V's objects of an earlier one, and
// none can make a queue that has a name alone.
func TestNoIPCBetweenCommands(t *testing.T) {
	if err := stage(t, "narrowed", "as in a pod"); err != nil {
		t.Error(err)
	}
}

// TestQueuesOutlast: where nothing refuses such queues, no command runs.
func TestQueuesOutlast(t *testing.T) {
	if err := stage(t, "open", "no filter"); err == nil || !strings.Contains(err.Error(), "could leave a message queue") {
		t.Error(err)
	}
}
