package cli_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/gittest"
	"git-ward/internal/process"
)

// interruptions are command lines that write or wait, in a clone; NEW is a directory that is
// not there yet.
var interruptions = []string{
	"clone BARE NEW", "init --bare NEW", "fsck BARE", "fsck --repair BARE", "maintain BARE", "lint", "log",
	"directive new -m words", "directive list", "uow list", "review D-1", "take D-1", "drop D-1", "knowledge build", "protocol compile", "report --html NEW",
}

// leftover are names of what git and Ward write before it is whole.
var leftover = regexp.MustCompile(`\.lock$|tmp_|^\.tmp|\.tmp$`)

// TestInterrupted: ^C at any moment of a command ends it soon, with exit 130 and a line that
// says what is there, a closed terminal and a kill likewise, or the command was done already; it leaves nothing half made, and the
// repository is whole (story 28).
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in the quick tier: sixty commands, interrupted")
	}
	p := gittest.New(t)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: say it\n\nSay it.\n\n## Reports\n")
	p.Git("add", "COMMS.md")
	p.Git("commit", "--quiet", "-m", "a directive")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	stopped := 0
	for _, line := range interruptions {
		for _, m := range []struct {
			after  time.Duration // milliseconds: a command takes some hundred
			signal syscall.Signal
		}{{0, syscall.SIGINT}, {15, syscall.SIGHUP}, {60, syscall.SIGINT}, {150, syscall.SIGTERM}} {
			where := filepath.Join(t.TempDir(), "new")
			if interrupt(t, p, strings.NewReplacer("BARE", p.Bare, "NEW", where).Replace(line), where, m.after*time.Millisecond, m.signal) {
				stopped++
			}
		}
	}
	if stopped < len(interruptions) {
		t.Errorf("only %d were interrupted: the test proves little", stopped)
	}
	for _, dir := range []string{p.Bare, p.Work} {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && leftover.MatchString(d.Name()) && !strings.HasPrefix(d.Name(), "tmp_obj") && filepath.Base(filepath.Dir(path)) != "ward" { // ward/*.lock are flock(2)'s
				t.Errorf("left behind: %s", path)
			}
			return nil
		})
	}
	// A git that is killed leaves tmp_obj* in its object store, wherever it writes one: not a
	// lock and no object, and its own gc removes it.
	// The server's side of a push was interrupted, too, as the repository is on this machine:
	// what git left of such a push, its own gc removes; that it was, the next push records.
	p.Run(p.Bare, "git-ward", "maintain", "--records")
	p.Fsck()
}

// interrupt sends a signal to a command's process group, as a terminal does, and tells whether
// the command had not ended before.
func interrupt(t *testing.T, p *gittest.Pair, line, where string, after time.Duration, with syscall.Signal) bool {
	t.Helper()
	cmd := p.Command(p.Work, nil, "git-ward", strings.Fields(line)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, 5*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Go's runtime needs some milliseconds before a signal is the program's to take.
	time.Sleep(20*time.Millisecond + after)
	syscall.Kill(-cmd.Process.Pid, with)
	begun := time.Now()
	cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("%s: ended %s after %s", line, took, with)
	}
	// What git started on the other side of a push is no child of ours, and has a moment.
	var alive []process.Info
	for range 30 {
		if alive = group(cmd.Process.Pid); len(alive) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond) // nobody tells of the end of what is not our child
	}
	if len(alive) > 0 {
		t.Errorf("%s, %s after %s: of its group live on: %+v", line, with, after, alive)
	}
	ended := 128 + int(with)
	said := strings.Contains(out.String(), "git-ward: interrupted: ")
	switch {
	case code == ended != said, code != ended && code > 2, code < 0 && after > 0:
		t.Errorf("%s, %s after %s: exit %d\n%s", line, with, after, code, &out)
	case code == ended && strings.HasPrefix(line, "clone "):
		if _, err := os.Lstat(where); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, %s after %s: the clone is there by halves", line, with, after)
		}
	}
	return code == ended
}

// group are the living processes of a process group.
func group(id int) []process.Info {
	return slices.DeleteFunc(process.All(), func(p process.Info) bool {
		of, err := syscall.Getpgid(p.PID)
		return err != nil || of != id || p.Dead
	})
}
