package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// grips are what a user may do to any process of its own, whatever that process has done
// to be neither traced nor looked at: with them it takes the first process's time on a
// processor away, or its limits.
const grips = `grip() { if "$@" >/dev/null 2>&1; then echo "GRIP: $*"; else echo "no: $*"; fi; }
grip renice -n 19 -p 1
grip chrt --idle --pid 0 1
grip taskset --pid 1 1
grip prlimit --pid 1 --nofile=4
grip kill -STOP 1
echo "it writes" >/dev/stdout && echo "it writes" >/dev/stderr
id -u; id -G
grep Cap /proc/self/status`

// TestAnotherUser: a command that is another user than what runs in front of it has no
// grip on that, and none of its rights. As the same user it has.
func TestAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root to begin as the first process of a container does")
	}
	dir, err := os.MkdirTemp("", "ward-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "ward-inside")
	for _, step := range [][]string{{"cp", os.Args[0], program}, {"chmod", "-R", "a+rx", dir}} {
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	const rights = "+setuid,+setgid,+kill"
	const begin = "--reuid 1001 --regid 1001 --clear-groups --inh-caps -all," + rights + " --ambient-caps -all," + rights
	for _, c := range []struct{ begin, user, main string }{
		{begin, "", "1"},
		{begin, "--user 1000", "1"},
		{"", "--as 1001 --user 1000", "again"}, // an engine of Kubernetes begins as root
	} {
		user := c.user
		args := []string{"--pid", "--fork", "--kill-child", "--mount-proc", "setpriv", "--bounding-set", "-all," + rights, "--no-new-privs"}
		args = append(append(args, strings.Fields(c.begin)...), program, "--gateway", "/nowhere")
		cmd := exec.Command("unshare", append(append(args, strings.Fields(user)...), "--", "bash", "-c", grips)...)
		cmd.Env, cmd.Dir = append(os.Environ(), "INSIDE_TEST_MAIN="+c.main), "/"
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := write.Chown(1001, 1001); err != nil { // as a runtime does
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = write, write
		err = cmd.Run()
		write.Close()
		said := make([]byte, 64<<10)
		n, _ := read.Read(said)
		read.Close()
		out := string(said[:n])
		t.Logf("%q: %v\n%s", user, err, out)
		gripped := strings.Contains(out, "GRIP: ")
		const zero = "0000000000000000"
		switch {
		case user == "":
			if !gripped {
				t.Error("as the same user it has no grip, too: the test shows nothing")
			}
		case gripped, strings.Count(out, "it writes\n") != 2, !strings.Contains(out, "\n1000\n1000\n"),
			!strings.Contains(out, "CapInh:\t"+zero+"\nCapPrm:\t"+zero+"\nCapEff:\t"+zero), !strings.Contains(out, "CapAmb:\t"+zero):
			t.Error("it has more than a command is to have")
		}
	}
}
