package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// briefly is a silence of watchers that a test can wait for. It is none of the machine's speed: what
// beats is slow where what listens is.
const briefly = `[launch] silence = "10s"`

// stopping stops the processes above it up to its watcher, and with them itself, the first time.
const stopping = `test -e %[1]s/first && { touch %[1]s/again; echo done >f1; exit; }
touch %[1]s/first; P=$$; ALL=
while :; do
	ALL="$ALL $P"; N=$(sed -n 's/^Name:.//p' /proc/$P/status)
	test "$N" = ward-watcher && break
	P=$(sed -n 's/^PPid:.//p' /proc/$P/status)
done
kill -STOP $P; kill -STOP $ALL`

// TestStopsItsWatcher: a worker that stops its watcher, and all that could go on without it, is ended,
// which is said; another has its directive, and nothing happens to the others. Unfenced, where one can.
func TestStopsItsWatcher(t *testing.T) {
	tier.Full(t, "a watcher is waited for")
	t.Parallel()
	p := gittest.New(t)
	dir := filepath.Dir(p.Bare)
	toWorkOn(t, p, 2)
	configtest.Set(t, p.Bare, briefly)
	var script strings.Builder
	for i, command := range []string{fmt.Sprintf(stopping, dir), fmt.Sprintf("echo began >>%[1]s/two; while ! test -e %[1]s/again; do sleep 0.1; done; echo done >f2", dir)} {
		args, _ := json.Marshal(map[string]string{"command": command})
		fmt.Fprintf(&script, `{"directive":"D-%d","text":"I write it.","calls":[{"name":"bash","args":%s}]}`+"\n", i+1, args)
		fmt.Fprintf(&script, `{"directive":"D-%d","text":"It is written."}`+"\n", i+1)
	}
	p.Write("script.jsonl", script.String())
	p.Git("commit", "--quiet", "--all", "--message", "script")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	out, err := await.Output(t, launchMany(p, 2, "--unfenced"))
	if err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(out), "its watcher has given no sign of life for [launch] silence"); n != 1 || strings.Contains(string(out), "lives") {
		t.Errorf("said %d times:\n%s", n, out)
	}
	if began, err := os.ReadFile(filepath.Join(dir, "two")); err != nil || string(began) != "began\n" {
		t.Errorf("the other's work: %q %v", began, err)
	}
	eachOnce(t, p, 2)
	p.Fsck()
}

// TestWatcherStopped: a container whose watcher is stopped from outside is ended, and another takes
// its place; what the watcher says of its life is in no output.
func TestWatcherStopped(t *testing.T) {
	tier.Full(t, "it launches containers, and waits for a watcher")
	f := &inFence{Pair: fenced(t)}
	f.settings(`run = ["sh", "agent.sh"]`, `probation = false`, `start_timeout = "10m"`, `check = "1h"`, briefly, `[egress] mode = "allowlist"`)
	f.Commit("COMMS.md", toBeWatched)
	f.Commit("agent.sh", enter+stay)
	f.Git("push", "-q", "origin", "HEAD:main")
	f.Cmd = f.launch("--model", "script")
	f.Stdout, f.Stderr = &f.out, &f.out
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() {
		f.Process.Signal(syscall.SIGTERM)
		f.Wait()
	}
	t.Cleanup(end)
	f.await("SUCCESS main")
	was := f.watcher()
	if err := syscall.Kill(was, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	f.until("another watcher works", func() bool {
		now := f.watcher()
		return now != 0 && now != was && !alive(was)
	})
	f.await("SUCCESS main")
	end()
	if out := f.out.String(); strings.Count(out, "its watcher has given no sign of life for [launch] silence") != 1 || strings.Contains(out, "ward-watcher: lives") {
		t.Error(out)
	}
	f.Fsck()
}
