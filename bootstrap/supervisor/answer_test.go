package supervisor_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/process"
)

// TestAnswer: what was started, or a living process of its own, is believed with the word
// that it was asked with; a line anywhere else, another start's answer and one that names
// something else are not (BOOT-3).
func TestAnswer(t *testing.T) {
	s := become(t)
	const stays = "while [ ! -e booted ]; do sleep 0.02; done" // only one that is there is believed
	for _, c := range []struct {
		name, line string
		booted     bool
	}{
		{"itself", "up", true},
		{"and ends at once", "up; exit 1", true},
		{"with noise", "i=0; while [ $i -lt 500 ]; do echo some more noise in a line that is none of the answers >&3; i=$((i+1)); done; up", true},
		{"a child", "(up; " + stays + ") & wait", true},
		{"a session of its own", "setsid sh -c 'read -r word <&3; echo \"SUCCESS main c $word\" >&3; " + stays + "' & wait", true},
		{"a line on stdout", "read -r word <&3; echo \"SUCCESS main c $word\"", false},
		{"another word", "read -r word <&3; echo 'SUCCESS main c word' >&3", false},
		{"without a word", "echo 'SUCCESS main c' >&3", false},
		{"another commit", "read -r word <&3; echo \"SUCCESS main d $word\" >&3", false},
		{"half a line", "read -r word <&3; printf 'SUCCESS main c %s' \"$word\" >&3", false},
		{"no end of noise", "while :; do echo noise; done >&3 & sleep 0.1; kill $!", false}, // so that something was read
	} {
		a, _ := agent(t, c.line)
		a.OnBooted = func() { touch(t, a.Command.Dir, "booted") }
		end, err := s.Watch(t.Context(), a)
		if err != nil || end.Booted != c.booted {
			t.Errorf("%s: %+v %v", c.name, end, err)
		}
		noneLeft(t, c.name)
	}
}

// TestAnswerWaits: an answer that came in time counts, however long something else was
// looked at meanwhile.
func TestAnswerWaits(t *testing.T) {
	s := become(t)
	for looked := 0; looked < 6; { // which of two things that are due comes first is chance
		a, _ := agent(t, "up; touch answered; while [ ! -e booted ]; do sleep 0.02; done; exit 3")
		a.StartTimeout = time.Millisecond // which is over when the first look is
		a.OnBooted = func() { touch(t, a.Command.Dir, "booted") }
		looks := 0
		a.Signaled = func() bool {
			looks++
			await.True(t, "the answer, or the end of who was to give it", func() bool {
				_, err := os.Stat(filepath.Join(a.Command.Dir, "answered"))
				return err == nil || !slices.ContainsFunc(process.Descendants(), func(p process.Info) bool { return !p.Dead })
			})
			return false
		}
		end, err := s.Watch(t.Context(), a)
		if looks == 1 && strings.HasPrefix(end.Why, "no SUCCESS within ") {
			continue // that look was after the end: the time was over before there was any other
		}
		if looked++; err != nil || !end.Booted || end.Why != "exit 3" {
			t.Fatalf("after %d looks: %+v %v", looks, end, err)
		}
	}
}

// TestAnswerOfAnother: a process that an earlier start left behind, of the same user, takes
// the very descriptor and answers with the very word; the kernel says that it is not the
// one that was started. By that one the same answer counts.
func TestAnswerOfAnother(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, within := range []bool{false, true} {
		s := become(t)
		a, _ := agent(t, "echo $$ >pid; while [ ! -e stolen ]; do sleep 0.02; done")
		if err := unix.Mkfifo(filepath.Join(a.Command.Dir, "pid"), 0o600); err != nil {
			t.Fatal(err)
		}
		if within {
			a.Command.Args[2] = fmt.Sprintf("'%s' thief . & echo $$ >pid; while [ ! -e booted ]; do sleep 0.02; done", self)
			a.OnBooted = func() { touch(t, a.Command.Dir, "booted") }
		}
		var out bytes.Buffer
		leftover := exec.Command(self, "thief", a.Command.Dir)
		leftover.Stdout = &out
		if !within {
			if err := leftover.Start(); err != nil {
				t.Fatal(err)
			}
		}
		end, err := s.Watch(t.Context(), a)
		if err != nil || end.Booted != within {
			t.Errorf("within %v: %+v %v", within, end, err)
		}
		if !within {
			leftover.Wait() // the supervisor has ended it: nothing outlives a start
		}
		if _, err := os.Stat(filepath.Join(a.Command.Dir, "stolen")); err != nil {
			t.Errorf("it could not try: %v %s", err, &out)
		}
	}
}

// touch makes an empty file.
func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
		t.Error(err)
	}
}

// thief answers in the place of the process whose id comes through the pipe dir/pid.
func thief(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return err
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdGetfd(pidfd, 3, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 100)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte("SUCCESS main c "+string(buf[:n]))); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "stolen"), nil, 0o644); err != nil {
		return err
	}
	return unix.Pause() // alive when it is looked at; the supervisor ends it
}
