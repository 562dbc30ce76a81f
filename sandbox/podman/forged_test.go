package podman_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/sandbox/podman"
)

// oldReaper is how the reaper once looked for what its podman had left: it believed what
// processes say of themselves, and ran what they named.
const oldReaper = `argument() { tr '\0' '\n' <"/proc/$1/cmdline" | sed -n "/^$2\$/{n;p;q}"; }
for p in $(grep -slaF "CONTAINERS_CONF=$dir/" /proc/[0-9]*/environ); do
	p=${p#/proc/} p=${p%/environ}
	id=$(argument "$p" -c) runtime=$(argument "$p" -r)
	[ -n "$id" ] && [ -n "$runtime" ] || continue
	"$runtime" state "$id"
done`

// TestForgedProcess: a process of the agent's that passes itself off for a conmon of the
// launch's, by its name, its arguments and its environment, has the reaper run nothing. The
// reaper of before ran its program, as root on the host.
func TestForgedProcess(t *testing.T) {
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--mount", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no namespaces for this user: %s", out)
	}
	for reaper, script := range map[string]string{"old": oldReaper, "new": `"$program" ` + podman.ReaperVerb + ` RUN <"$told"`} {
		dir := t.TempDir()
		file := func(name, text string) string {
			path := filepath.Join(dir, name)
			gittest.Program(t, path, text)
			return path
		}
		engine := filepath.Join(dir, "engine")
		if err := os.Mkdir(engine, 0o700); err != nil {
			t.Fatal(err)
		}
		ran := filepath.Join(dir, "ran")
		evil := file("evil", "#!/bin/sh\ntouch '"+ran+"'\n")
		var pointer any = engine // a reaper of before was told its path
		if reaper == "new" {
			pointer = map[string]string{"Path": engine}
		}
		line, err := json.Marshal(map[string]any{"Podman": []string{file("podman", "#!/bin/sh\n")}, "Runtime": "/usr/sbin/runc", "Run": "RUN", "Dir": pointer})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "bash", "-c", `
mount -t tmpfs none /run || exit 9 # the machine's networks are none of it
(CONTAINERS_CONF=$dir/containers.conf exec -a "$alias" bash "$forged" -c 0123 -r "$evil" --runtime "$evil") &
until grep -qs conmon /proc/$!/comm; do :; done
`+script)
		cmd.Env = append(os.Environ(), "dir="+engine, "evil="+evil, "told="+file("told", string(line)+"\n"), "program="+os.Args[0],
			"alias=conmon", "forged="+file("forged", "printf conmon >/proc/$$/comm; while :; do sleep 1; done\n"))
		out, err := cmd.CombinedOutput()
		_, stat := os.Stat(ran)
		t.Logf("%s: %v: %s", reaper, err, out)
		switch {
		case strings.Contains(string(out), "this program is started by"), err != nil:
			t.Errorf("%s: it does not run: %v", reaper, err)
		case reaper == "old" && stat != nil:
			t.Error("the reaper of before runs nothing, too: the test shows nothing")
		case reaper == "new" && stat == nil:
			t.Error("the reaper ran the agent's program")
		}
	}
}
