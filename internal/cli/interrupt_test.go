package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/gittest"
	"git-ward/internal/process"
	"git-ward/internal/tier"
)

// interruptions are command lines that write or wait, in a clone; NEW is a directory that is
// not there yet.
var interruptions = []string{
	"clone BARE NEW", "init --bare NEW", "fsck BARE", "fsck --repair BARE", "maintain BARE", "lint", "log",
	"directive new -m words", "directive list", "uow list", "review D-1", "take D-1", "drop D-1", "knowledge build", "protocol compile", "report --html NEW",
}

// leftover are names of what git and Ward write before it is whole.
var leftover = regexp.MustCompile(`\.lock$|tmp_|^\.tmp|\.tmp$`)

// TestInterrupted: ^C ends a command with exit 130 and a line that says what is there, a
// closed terminal and a kill likewise, or the command was done already; it leaves nothing
// half made, and the repository is whole (story 28). The command is held where it is about
// to start a git, so that the signal comes there.
func TestInterrupted(t *testing.T) {
	tier.First(t, "thirty commands, interrupted")
	p := interrupted(t)
	stopped := 0
	for i, line := range interruptions {
		for pass, signal := range []syscall.Signal{syscall.SIGINT, []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM}[i%2]} {
			stopped += interrupt(t, p, line, fmt.Sprintf("git/child#%d", 1+3*pass), 0, signal)
		}
	}
	// In the middle of a push, whose other side gets the signal, too.
	stopped += interrupt(t, p, "directive new -m pushed", "receive/judged", 0, syscall.SIGINT)
	if stopped < len(interruptions) {
		t.Errorf("only %d were interrupted: the test proves little", stopped)
	}
	whole(t, p)
}

// TestInterruptedAnywhere is TestInterrupted at any moment.
func TestInterruptedAnywhere(t *testing.T) {
	tier.Full(t, "sixty commands, interrupted at random moments")
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	p := interrupted(t)
	for _, line := range interruptions {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
			interrupt(t, p, line, "", time.Duration(random.Int64N(int64(300*time.Millisecond))), signal)
		}
	}
	whole(t, p)
}

func interrupted(t *testing.T) *gittest.Pair {
	p := gittest.New(t)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: say it\n\nSay it.\n\n## Reports\n")
	p.Git("add", "COMMS.md")
	p.Git("commit", "--quiet", "-m", "a directive")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(out)
	}
	return p
}

// whole fails where an interrupted command left something that the next does not mend. A
// git that a signal meets within open(2) leaves its lock, and one that is killed tmp_obj*,
// wherever it writes an object: maintenance removes the first, git's own gc the second.
func whole(t *testing.T, p *gittest.Pair) {
	t.Helper()
	p.Run(p.Bare, "git-ward", "maintain", "--records")
	for _, dir := range []string{p.Bare, p.Work} {
		p.Run(dir, "git-ward", "maintain")
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && leftover.MatchString(d.Name()) && !strings.HasPrefix(d.Name(), "tmp_") && filepath.Base(filepath.Dir(path)) != "ward" { // ward/*.lock are flock(2)'s
				t.Errorf("left behind: %s", path)
			}
			return nil
		})
	}
	p.Fsck()
}

// interrupt sends a signal to a command's process group, as a terminal does, while it is
// held at a failpoint, or some time after its start; it is 1 where the command had not
// ended before.
func interrupt(t *testing.T, p *gittest.Pair, line, point string, after time.Duration, with syscall.Signal) int {
	t.Helper()
	dir := t.TempDir()
	where, held := filepath.Join(dir, "new"), filepath.Join(dir, "held")
	var environ []string
	if point != "" {
		environ = []string{failpoint.Var + "=" + point + "=hold:" + held}
	}
	cmd := p.Command(p.Work, environ, "git-ward", strings.Fields(strings.NewReplacer("BARE", p.Bare, "NEW", where).Replace(line))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	if point == "" {
		time.Sleep(after) // the random moment itself
	} else {
		await.True(t, line+" comes to "+point+" or ends", func() bool {
			_, err := os.Lstat(held)
			return err == nil || len(done) > 0
		})
	}
	syscall.Kill(-cmd.Process.Pid, with)
	os.Remove(held)
	await.Value(t, line+" ends", done)
	code := cmd.ProcessState.ExitCode()
	// What git started on the other side of a push is no child of ours, and has a moment.
	await.True(t, "nobody of the group of "+line+" lives on", func() bool { return len(group(cmd.Process.Pid)) == 0 })
	ended := 128 + int(with)
	said := strings.Contains(out.String(), "git-ward: interrupted: ")
	switch {
	case code < 0 && point == "": // before Go's runtime has taken the signal for the program's
	case (code == ended) != said, code != ended && code > 2, code < 0:
		t.Errorf("%s, %s at %s %s: exit %d\n%s", line, with, point, after, code, &out)
	case code == ended && strings.HasPrefix(line, "clone "):
		if _, err := os.Lstat(where); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, %s at %s %s: the clone is there by halves", line, with, point, after)
		}
	}
	if code == ended {
		return 1
	}
	return 0
}

// group are the living processes of a process group.
func group(id int) []process.Info {
	return slices.DeleteFunc(process.All(), func(p process.Info) bool {
		of, err := syscall.Getpgid(p.PID)
		return err != nil || of != id || p.Dead
	})
}

// TestLeftLocks: locks that a killed git left in the bare repository and in the clone, as a
// signal does that meets its open(2), are no trouble to the next command.
func TestLeftLocks(t *testing.T) {
	tier.First(t, "a push")
	p := interrupted(t)
	old := time.Now().Add(-time.Minute)
	locks := []string{filepath.Join(p.Bare, "HEAD.lock"), filepath.Join(p.Bare, "refs/heads/main.lock"), filepath.Join(p.Work, ".git/refs/remotes/origin/main.lock")}
	for _, path := range locks {
		if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	p.Run(p.Work, "git-ward", "directive", "new", "-m", "words")
	for _, path := range locks {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is there still", path)
		}
	}
	reflog := filepath.Join(p.Bare, "logs/refs/heads/main.lock") // of a killed expiry
	if err := errors.Join(os.WriteFile(reflog, nil, 0o644), os.Chtimes(reflog, old, old)); err != nil {
		t.Fatal(err)
	}
	p.Run(p.Bare, "git-ward", "maintain")
}
