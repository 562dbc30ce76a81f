package verifier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/scratch"
)

// Apart says which parts of a verification were isolated from each other.
type Apart struct {
	// Separate are the commands that start the work as a process, or do not open it: none of their
	// tests shares a process with it (PROOF-1).
	Separate []string `json:"separate,omitempty"`
	// Shared says why the commands shared /tmp and could reach each other's processes; "" if they did
	// not (PROOF-6).
	Shared string `json:"shared,omitempty"`
}

// sharedBy says why a runner's commands share what each should have for itself.
func sharedBy(r Runner) string {
	if s, ok := r.(interface{ Shared() string }); ok {
		return s.Shared()
	}
	return ""
}

// ownPlaces makes a command's own /tmp and /var/tmp below its directory, and its list of mounts in the
// format of fstab(5). They contain symbolic links to what the machine's have, because PATH or a cache
// may lie there; new files are the command's own.
func (p *Places) ownPlaces(dir string) error {
	var mounts strings.Builder
	field := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)
	mount := func(what, at, kind, options string) {
		fmt.Fprintln(&mounts, field.Replace(what), field.Replace(at), kind, options)
	}
	for _, at := range []string{"/tmp", "/var/tmp"} {
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			continue
		}
		own := filepath.Join(dir, "apart", at)
		err := os.MkdirAll(filepath.Join(own, hostName), 0o755)
		if err == nil {
			err = os.Chmod(own, 0o777|os.ModeSticky)
		}
		mount(at, filepath.Join(own, hostName), "none", "rbind")
		if err == nil && filepath.Dir(dir) == at {
			err = os.Mkdir(filepath.Join(own, filepath.Base(dir)), 0o755)
			mount(dir, filepath.Join(own, filepath.Base(dir)), "none", "bind")
		}
		if err != nil {
			return err
		}
		entries, _ := os.ReadDir(at)
		p.link(at, own, entries)
		mount(own, at, "none", "rbind")
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		// mount --all skips a source that is mounted already.
		mount(filepath.Base(dir), "/dev/shm", "tmpfs", "mode=1777")
	}
	return os.WriteFile(filepath.Join(dir, mountsFile), []byte(mounts.String()), 0o644)
}

// mountsFile is the list that ownPlaces makes, in a command's directory.
const mountsFile = "mounts"

// apartScript gives an unfenced command namespaces of its own (PROOF-6) and mounts there what ownPlaces
// listed. $1 is its directory, $2 drops the rights that this takes, and the rest is the command. The
// shell stays the first process.
const apartScript = `set -e
dir=$1 drop=$2
shift 2
mount --all --fstab "$dir/` + mountsFile + `"
cd "$dir/work"
echo >&3
exec 3>&-
set +e
$drop "$@"
exit $?`

// apart returns the arguments, before the command's own, that start it in namespaces of its own.
func (p *Processes) apart(dir string) []string {
	args := []string{"unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"}
	drop := ""
	if os.Geteuid() != 0 { // who is root has each right without a user namespace
		args = append(args, "--map-current-user", "--keep-caps")
		drop = "setpriv --inh-caps=-all --ambient-caps=-all"
	}
	return append(args, "--", "sh", "-c", apartScript, "apart", dir, drop)
}

// Shared says why the commands share /tmp and can reach each other's processes and this one; "" if they
// do not.
func (p *Processes) Shared() string {
	return p.Places.shared(p.tryApart)
}

func (p *Processes) tryApart() error {
	dir, err := scratch.Make("", "verify-")
	if err != nil {
		return err
	}
	defer dir.Remove()
	if err := os.Mkdir(filepath.Join(dir.Path, "work"), 0o755); err != nil {
		return err
	}
	if err := p.Places.ownPlaces(dir.Path); err != nil {
		return err
	}
	begun, err := beginning()
	if err != nil {
		return err
	}
	args := append(p.apart(dir.Path), "true")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.ExtraFiles = []*os.File{begun.said}
	said, err := cmd.CombinedOutput()
	if err = errors.Join(err, begun.check()); err != nil {
		return fmt.Errorf("namespaces cannot be made here: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// begun is a pipe on which apartScript reports that the command begins in its namespaces. An exit code
// or a file could not say that, because the command controls both.
type begun struct{ heard, said *os.File }

func beginning() (b begun, err error) {
	b.heard, b.said, err = os.Pipe()
	return b, err
}

// check reads the report, after the command has ended.
func (b begun) check() error {
	b.said.Close()
	defer b.heard.Close()
	if n, _ := b.heard.Read(make([]byte, 1)); n == 0 {
		return errors.New("the command's namespaces were not made")
	}
	return nil
}

// pending reports whether a signal is pending for a process or one of its threads. It fails if it cannot
// read that.
func pending(pid int, sig syscall.Signal) (bool, error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return false, err
	}
	for _, task := range tasks {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended meanwhile
		}
		for _, of := range []string{"\nSigPnd:\t", "\nShdPnd:\t"} {
			_, mask, _ := strings.Cut(string(status), of)
			mask, _, _ = strings.Cut(mask, "\n")
			bits, failed := strconv.ParseUint(mask, 16, 64)
			if err = errors.Join(err, failed); err != nil || bits>>(sig-1)&1 == 1 {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// unstopped runs a command that can reach this process. If this process was stopped and continued
// meanwhile, nobody enforced the command's limits, and its result does not count.
func unstopped(ctx context.Context, run func(context.Context) (Outcome, error)) (Outcome, error) {
	goes := make(chan os.Signal, 1)
	signal.Notify(goes, syscall.SIGCONT)
	o, err := run(ctx)
	// The command may have ended right after: a pending signal counts, and Stop delivers what this
	// process's handler has received.
	sent, unread := pending(os.Getpid(), syscall.SIGCONT)
	signal.Stop(goes)
	if unread != nil {
		return Outcome{}, errors.Join(err, fmt.Errorf("whether the process that runs the commands was stopped: %w", unread))
	}
	if sent || len(goes) > 0 {
		return Outcome{}, errors.Join(err, errors.New("the process that runs the commands was stopped and continued while one ran"))
	}
	return o, err
}
