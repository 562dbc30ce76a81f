package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/tier"
)

func bash(t *testing.T, b *Box, command string) Result {
	t.Helper()
	args, err := json.Marshal(bashArgs{command})
	if err != nil {
		t.Fatal(err)
	}
	return call(t, b, "bash", string(args))
}

func TestBash(t *testing.T) {
	b := newBox(t)
	b.Env = append(b.Env, "GREETING=hi")
	t.Setenv("WARD_TEST_SECRET", "not for children")
	for command, want := range map[string]Result{
		"echo $GREETING; echo err >&2":            {Text: "hi\nerr\n[exit 0]"},
		"printf 'no newline'; exit 3":             {Text: "no newline\n[exit 3]", IsError: true},
		"true":                                    {Text: "[exit 0]"},
		"exec 2>&-; no-such-program-of-mine":      {Text: "[exit 127]", IsError: true, Missing: true},
		"kill -9 $$":                              {Text: "[killed by signal 9, killed]", IsError: true},
		"printf '\\xff'":                          {Text: "\ufffd\n[exit 0]"},
		"cat; echo $WARD_TEST_SECRET":             {Text: "\n[exit 0]"},
		"basename $PWD":                           {Text: "tree\n[exit 0]"},
		"[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ]": {Text: "[exit 0]"},
		"env | grep -c '^WARD_CALL=.'; :":         {Text: "1\n[exit 0]"},
	} {
		if r := bash(t, b, command); r != want {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

// TestOutputIsCut: the model gets the beginning and the end, the file has all.
func TestOutputIsCut(t *testing.T) {
	b := newBox(t)
	r := bash(t, b, "seq 1 100000")
	m := regexp.MustCompile(`(?s)^1\n2\n.*\n\[(\d+) bytes left out; all is in (\S+)\]\n.*\n99999\n100000\n\[exit 0\]$`).FindStringSubmatch(r.Text)
	if m == nil || r.IsError || len(r.Text) > b.OutputSize+200 {
		t.Fatalf("%d bytes: %s", len(r.Text), r.Text)
	}
	if m[1] != fmt.Sprint(588895-1000) || !strings.HasPrefix(m[2], b.State+"/logs/bash-") {
		t.Error(m[1:])
	}
	data, err := os.ReadFile(m[2])
	if err != nil || len(data) != 588895 {
		t.Errorf("the file has %d bytes (%v)", len(data), err)
	}
	for n, want := range map[int]bool{1000: false, 1001: true} {
		r := bash(t, b, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", n))
		// What stands in brackets names a file, whose directory may have an x.
		if strings.Contains(r.Text, "left out") != want || strings.Count(bracketed.ReplaceAllString(r.Text, ""), "x") != 1000 {
			t.Errorf("%d bytes: %.60q", n, r.Text)
		}
	}
}

var bracketed = regexp.MustCompile(`\[[^\]]*\]`)

// TestEndlessOutput is stopped at the limit of the file.
func TestEndlessOutput(t *testing.T) {
	b := newBox(t)
	r := bash(t, b, "yes")
	if !r.IsError || !strings.HasSuffix(r.Text, "y\n[stopped: more than 64 MiB of output]") {
		t.Fatalf("%.200s", r.Text)
	}
	files, _ := filepath.Glob(b.State + "/logs/bash-*.log")
	if info, err := os.Stat(files[0]); err != nil || info.Size() != logSize {
		t.Errorf("the file has %d bytes (%v)", info.Size(), err)
	}
}

// TestTimeout ends everything that the command started, asking first. A command that had
// no time to say that it is up, or to heed, on this machine, gets twice as much.
func TestTimeout(t *testing.T) {
	tier.First(t, "it waits for commands that do not end when they are asked to")
	end := await.Deadline(t)
	for command, said := range map[string]string{
		"echo a; (sleep 1000; echo b) & sleep 1000":                "a\n",
		"trap 'echo asked; exit' TERM; echo up; sleep 1000 & wait": "up\nasked\n",
		"trap '' TERM; echo up; bash -c 'sleep 1000'; sleep 1000":  "up\n",
	} {
		b := newBox(t)
		for b.Timeout = 300 * time.Millisecond; ; b.Timeout *= 2 {
			r := bash(t, b, command+" # "+t.Name())
			checkNoneLeft(t, b)
			why := fmt.Sprintf("[stopped: it ran longer than %s]", b.Timeout)
			if r.IsError && r.Text == said+why {
				break
			}
			if soFar, ok := strings.CutSuffix(r.Text, why); !ok || !strings.HasPrefix(said, soFar) || time.Until(end) < 4*b.Timeout {
				t.Errorf("%s: %+v", command, r)
				break
			}
		}
	}
}

// TestBackground: what is left behind ends with the command and does not hold it
// up: in the group, and by its environment outside of the group.
func TestBackground(t *testing.T) {
	b := newBox(t)
	for _, command := range []string{
		"sleep 1000 & echo a",
		"nohup sleep 1000 & echo a",
		"setsid sleep 1000 & echo a",
		"setsid bash -c 'sleep 1000 & setsid sleep 1000 & wait' & sleep 0.1; echo a",
	} {
		if r := bash(t, b, command); r.IsError || !strings.HasSuffix(r.Text, "a\n[exit 0]") {
			t.Errorf("%s: %+v", command, r)
		}
		checkNoneLeft(t, b)
	}
}

// TestEscape: who leaves group and environment gets away; he holds the pipe, but
// not the agent.
func TestEscape(t *testing.T) {
	tier.First(t, "it waits for a second that a pipe may be held")
	b := newBox(t)
	b.Env = append(b.Env, "PIDFILE="+filepath.Join(t.TempDir(), "pid"))
	r := bash(t, b, "setsid env -i sleep 1000 & echo $! >$PIDFILE; sleep 0.2; echo a")
	if r.Text != "a\n[exit 0]" {
		t.Errorf("%+v", r)
	}
	exec.Command("sh", "-c", "kill -9 $(cat "+strings.TrimPrefix(b.Env[len(b.Env)-1], "PIDFILE=")+")").Run()
}

func TestStopWhileRunning(t *testing.T) {
	b := newBox(t)
	ctx, cancel := context.WithCancel(t.Context())
	up := filepath.Join(t.TempDir(), "up")
	ended := make(chan error, 1)
	go func() {
		_, err := Call(ctx, b.Tools(), "bash", json.RawMessage(`{"command":"touch `+up+`; sleep 1000"}`))
		ended <- err
	}()
	await.True(t, "it runs", func() bool { _, err := os.Stat(up); return err == nil })
	cancel()
	if err := await.Value(t, "its end", ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	checkNoneLeft(t, b)
}

// checkNoneLeft looks for processes in the working tree.
func checkNoneLeft(t *testing.T, b *Box) {
	t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, dir := range dirs {
		if at, err := os.Readlink(dir); err == nil && at == b.Dir {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(dir), "cmdline"))
			t.Errorf("left running: %q", line)
		}
	}
}

func TestOldLogsGo(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.log", kinds[i%2], i)), make([]byte, 10000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(dir, "agent.log"), make([]byte, 10000), 0o644)
	if err := pruneLogs(dir, 25000); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(dir + "/*")
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if got := strings.Join(left, " "); got != "agent.log bash-4.log exec-3.log" {
		t.Error(got)
	}
}
