package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/fence"
)

// TestDetached runs the real binaries: a launcher in the background is seen,
// read, refused a second time, and stopped with everything of it.
func TestDetached(t *testing.T) {
	tier.Full(t, "launches of seconds")
	p := gittest.New(t)
	dir := filepath.Dir(p.Bare)
	ward := func(want string, args ...string) {
		t.Helper()
		out, _ := p.Try(dir, nil, "", "git-ward", args...)
		if !strings.Contains(out, want) {
			t.Errorf("git ward %v: want %q in:\n%s", args, want, out)
		}
	}
	launch := []string{"launch", "--bare", p.Bare, "--unfenced", "--state", filepath.Join(dir, "state")}
	ward("nothing runs", "status", "--bare", p.Bare)
	ward("there is no log", "launch", "--logs", "--bare", p.Bare)
	ward("launched as process", append(launch, "--detach")...)
	t.Cleanup(func() { p.Try(dir, nil, "", "git-ward", "launch", "--stop", "--bare", p.Bare) })
	ward("runs on", "status", "--bare", p.Bare)
	ward(`"running":true`, "status", "--json", "--bare", p.Bare)
	ward("another launcher", append(launch, "--once")...)
	ward("unfenced: the agent runs as you", "launch", "--logs", "--bare", p.Bare)
	ward("ended", "launch", "--stop", "--bare", p.Bare)
	ward("nothing runs", "status", "--bare", p.Bare)
	ward("nothing runs", "launch", "--stop", "--bare", p.Bare)

	ward("the model \"none\" needs the fence", append(launch, "--detach", "--model", "none")...)
}

// TestDetachedFails: a launch in the background that comes to nothing after it has the lock
// is not said to be launched, and its log says why.
func TestDetachedFails(t *testing.T) {
	tier.Full(t, "launches of seconds")
	p := fenced(t)
	configtest.Set(t, p.Bare, `[sandbox] image = "localhost/gone"`)
	dir := filepath.Dir(p.Bare)
	out, ended := p.Try(dir, nil, "", "git-ward", "launch", "--bare", p.Bare, "--model", "script", "--detach", "--state", filepath.Join(dir, "state"))
	if ended == nil || strings.Contains(out, "launched as") || !strings.Contains(out, "the launcher ended at once") {
		t.Errorf("%v\n%s", ended, out)
	}
	out, _ = p.Try(dir, nil, "", "git-ward", "launch", "--logs", "--bare", p.Bare)
	gittest.InOrder(t, out, "the image localhost/gone is not there", "hint: [sandbox] image")
}

// TestFloodedLog: what comes out of the fence, 20 MB at once, has a share of the launch
// log, and what the launcher says is still there; a launcher in the foreground, which
// has no log and no share, passes on all of it.
func TestFloodedLog(t *testing.T) {
	tier.Full(t, "a flood")
	t.Parallel()
	const flood = 20_000_000
	h := newHouse(t, "")
	watcher := filepath.Join(h.bin, fence.WatcherProgram)
	os.Remove(watcher) // a link to the real one
	script := fmt.Sprintf("#!/bin/sh\nseq 3000000 | head -c %d\necho its end >&2\n", flood)
	gittest.Program(t, watcher, script)
	free := h.unfenced("--once")
	if free.exit(); free.out.Len() < flood {
		t.Errorf("%d bytes in the foreground: the flood is none", free.out.Len())
	}
	logged := h.unfenced("--once", "--background")
	logged.exit()
	log, err := os.ReadFile(filepath.Join(h.bare, "ward/launch.log"))
	if err != nil || len(log) > 1<<20+1<<10 || logged.out.Len()+logged.err.Len() > 0 {
		t.Errorf("%d bytes in the log, %v; past it %q %q", len(log), err, logged.out.String(), logged.err.String())
	}
	for _, want := range []string{"unfenced: the agent runs as you", "its end", " lines left out)"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("%q is not in the log", want)
		}
	}
}
