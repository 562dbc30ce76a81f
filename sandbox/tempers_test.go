package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/tier"
)

// madeIt is what each worker below is asked to make.
const madeIt = "printf made >made.txt\n"

// tempers are workers as they come, each a script of the project, with the end of their directive.
var tempers = map[string]struct {
	does string
	end  string // in COMMS.md
	says string // in the report
}{
	"it asks at a terminal":       {"read -r answer </dev/tty || exit 1\n" + madeIt, "EXIT_BLOCKED", "/dev/tty"},
	"it asks again and again":     {"until read -r answer </dev/tty; do sleep 1; done 2>/dev/null\n", "EXIT_BLOCKED", "longer than 10s"},
	"it wants a browser":          {"echo 'Open https://login.example/device and enter AB-12'; sleep 1000\n", "EXIT_BLOCKED", "login.example"},
	"it updates itself":           {"cp /bin/true \"$0\" 2>/dev/null; git -C . checkout -q -- worker.sh\n" + madeIt, converged, ""},
	"it writes 300 MB beside":     {"head -c 300000000 /dev/zero >\"$HOME/cache\"\n" + madeIt, converged, ""},
	"it writes 300 MB to the log": {"head -c 300000000 /dev/zero | tr '\\0' 'x' | fold -w 100\n" + madeIt, converged, ""},
	"it changes its settings":     {"git config core.hooksPath /tmp; git config user.name root; printf '[core]\\n\\tpager = false\\n' >~/.gitconfig; git remote set-url origin /nowhere\n" + madeIt, converged, ""},
	"it dies once":                {"test -e ~/died || { : >~/died; kill -9 $$; }\n" + madeIt, converged, ""},
	"it says done and is not":     {"echo All tests pass. Done.\n", "EXIT_BLOCKED", ""},
	"it leaves a process":         {"(setsid sleep 1000 &)\n" + madeIt, converged, ""},
	"it commits by itself":        {madeIt + "git add made.txt; git -c user.name=x -c user.email=x@x commit -qm 'mine'\n", converged, ""},
	"it hops to another branch":   {"git switch -qc elsewhere\n" + madeIt, converged, ""},
}

// TestTempers: whatever a program does in the fence, its directive has one end, the end that fits.
func TestTempers(t *testing.T) {
	tier.Full(t, "it launches a container for each of twelve programs")
	for name, c := range tempers {
		t.Run(name, func(t *testing.T) {
			p := fenced(t)
			configtest.Set(t, p.Bare, `[model] name = "exec"`, `[model] command = ["sh", "./worker.sh"]`, `[model] timeout = "10s"`, `[loop] max_iterations = 2`, `[agent] retry_pause = "1s"`)
			comms, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
			if err != nil {
				t.Fatal(err)
			}
			p.Write("worker.sh", c.does)
			p.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-1: make a file\n\nMake made.txt.\n\n- [ ] it is there (`test -e made.txt`)\n- work: made.txt\n", 1))
			p.Git("add", "worker.sh", "COMMS.md")
			p.Git("commit", "--quiet", "--message", "D-1")
			p.Git("push", "--quiet", "origin", "main")
			out := p.Run(p.Work, "git-ward", "launch", "--bare", p.Bare, "--once", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
			p.Git("fetch", "--quiet")
			report := p.Git("show", "origin/main:COMMS.md")
			if strings.Count(report, " D-1 EXIT_") != 1 || !strings.Contains(report, " D-1 "+c.end+"\n") || !strings.Contains(report, c.says) {
				t.Errorf("want one %s with %q:\n%s\n%s", c.end, c.says, report, out)
			}
			p.Fsck()
		})
	}
}
