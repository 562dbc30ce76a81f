package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// abuses are what programs do to a repository, and to the machine that they run on, and
// what is to come of it: a status, and words of the report.
var abuses = map[string]struct {
	script string
	status string
	says   string
}{
	// Story 14: one that knows git, and does it all by itself.
	"commits, amends, rebases": {`
echo a >a && git add a && git commit -qm one && git commit -q --amend -m two
echo made >made.txt && git add made.txt && git commit -qm three && git rebase -q --force-rebase HEAD~2
git branch other && git tag mine && git checkout -q -b elsewhere && echo b >b && git add b && git commit -qm four`, "EXIT_CONVERGED", ""},
	"pushes by force": {`
echo made >made.txt && git add made.txt && git commit -qm one
git push -q -f origin HEAD:refs/heads/main; git push -q origin HEAD:refs/heads/agent/other; git push -q -f origin HEAD
echo pushed`, "EXIT_CONVERGED", ""},
	"a detached head in a merge": {`
echo made >made.txt && git add made.txt && git commit -qm one
git checkout -q --detach HEAD && echo c >c && git add c && git commit -qm two && git checkout -q agent/D-1
echo d >c && git add c && git commit -qm three; git merge -q HEAD@{1}; echo merged`, "", ""},
	"git's own settings": {`
echo made >made.txt
git config core.hooksPath /nonexistent && git config core.fsmonitor 'touch /tmp/ward-abuse-$$' && git config user.name Somebody && git config remote.origin.url /nonexistent`, "EXIT_CONVERGED", ""},
	// Story 12, of a program: words and no work, and papers that are none of the work.
	"says that it is done": {`printf '[A] met: all of it\n[PM] D-1.1: merge it\n'`, "EXIT_BLOCKED", "changed nothing"},
	"a paper alone":        {`mkdir -p .ward/research && echo found >.ward/research/made.md && echo written`, "EXIT_BLOCKED", "2 of 2 iterations, 2 claims"},
	"the remote's refs": {`
echo made >made.txt && git add made.txt && git commit -qm one
git update-ref refs/remotes/origin/main HEAD && rm -rf .git/refs/remotes .git/packed-refs; echo removed`, "EXIT_CONVERGED", ""},
	"the remote's refs moved": {`
echo made >made.txt && git add made.txt && git commit -qm one && git update-ref refs/remotes/origin/main HEAD; echo moved`, "EXIT_CONVERGED", ""},
	// Story 15.
	"background processes": {`
echo made >made.txt
for i in 1 2 3 4 5; do setsid sh -c 'trap "" TERM; sleep 1000' & done
(env -i sh -c 'cd /; exec -a hidden sleep 999' &) ; echo left`, "EXIT_CONVERGED", ""},
	"4,000 files": {`
echo made >made.txt; mkdir d; i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo $i >d/$i; done
python3 -c 'import resource; [open("d/%d" % (i + 1)) for i in range(min(4000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 10))]'`, "EXIT_CONVERGED", ""},
	"a file of 50 MB": {`echo made >made.txt; head -c 50M /dev/zero >large.bin; echo wrote`, "EXIT_BLOCKED", "large.bin: limit/blob: "},
	"prints 1 GB":     {`echo made >made.txt; head -c 1100M /dev/zero | tr '\0' x; echo printed`, "EXIT_CONVERGED", ""},
	// Story 16.
	"removes its home":            {`echo made >made.txt; rm -rf "$HOME"; echo removed`, "EXIT_CONVERGED", ""},
	"removes all papers and logs": {`echo made >made.txt; rm -rf .ward ../../../logs ../../../prompt ../../../ask; echo removed`, "EXIT_CONVERGED", ""},
	"links for papers":            {`echo made >made.txt; rm -rf .ward; ln -s /etc .ward; echo linked`, "EXIT_BLOCKED", "was refused"},
}

// TestStory14To16Abuse: whatever a program does to its clone, the unit ends, the report
// says how, and the repository is whole.
func TestStory14To16Abuse(t *testing.T) {
	tier.Full(t, "thirteen agents that run for many seconds")
	mayLoseHome(t)
	for name, c := range abuses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, greets, map[string]string{"model.name": `"exec"`, "model.command": `["sh", "-c", '''` + c.script + `''']`, "model.prompt": `"stdin"`, "loop.max_iterations": "2"})
			main := h.Git("rev-parse", "origin/main")
			begun := time.Now()
			log := h.launch()
			status, text := h.report()
			if c.status != "" && status != c.status || !strings.Contains(text, c.says) {
				t.Errorf("%s after %s\n%s\n%s", status, time.Since(begun), text, log)
			}
			if strings.Contains(h.Git("log", "--format=%s", main[:len(main)-1]+"..origin/main"), "one") {
				t.Error("main has its commits")
			}
			t.Logf("%s after %s\n%s", status, time.Since(begun).Round(time.Second), text)
			h.Fsck()
		})
	}
}

// mayLoseHome gives the launchers of a test a home of its own in place of the user's, and
// fails the test where that is touched: only the agent's may be lost to a program.
func mayLoseHome(t *testing.T) {
	if _, err := gittest.Bin(); err != nil { // go build needs the user's
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(home, "*")); len(left) != 1 {
			t.Errorf("the launcher's home was changed; it has %q", left)
		}
	})
}

// TestStory16ClonesAreRemoved: a program that removes its repository is told of, and the next pass
// goes on with what its tree held, or where that is gone, too, from what was pushed.
func TestStory16ClonesAreRemoved(t *testing.T) {
	tier.Full(t, "agents that run for many seconds")
	mayLoseHome(t)
	const kept, lost = "What its tree held is on rescue/D-1-kept-1, and the next try goes on with it", "What it made there is lost; the work begins again from what was pushed"
	for name, c := range map[string]struct{ removes, says, next string }{
		"its .git":      {"rm -rf .git", kept, "mv half.txt made.txt"},
		"its refs":      {"rm -rf .git/refs .git/packed-refs", kept, "mv half.txt made.txt"},
		"its objects":   {"rm -rf .git/objects", kept, "mv half.txt made.txt"},
		"all its files": {"rm -rf .git .ward .[a-z]* *", lost, "test ! -e half.txt && echo made >made.txt"},
		"the clone":     {`dir=$PWD; cd /; rm -rf "$dir"`, lost, "test ! -e half.txt && echo made >made.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := "if [ ! -e ../../../once ]; then touch ../../../once; echo half >half.txt; " + c.removes + "; else " + c.next + "; fi"
			h := newHost(t, greets, map[string]string{"model.name": `"exec"`, "model.command": `["sh", "-c", '''` + script + `''']`, "model.prompt": `"stdin"`})
			log := h.launch() // which tries again what ended badly
			if said := h.Git("show", "origin/"+h.control+":"+comms.Path); !strings.Contains(said, "sh left no repository behind: its .git is gone or broken. "+c.says) {
				t.Errorf("%s\n%s", said, log)
			}
			if status, text := h.report(); status != "EXIT_CONVERGED" {
				t.Errorf("%s\n%s\n%s", status, text, log)
			}
			h.Fsck()
		})
	}
}
