package modeltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/flock"
	"git-ward/internal/scratch"
)

// versions are the real agent programs that Ward is tried with, the newest release first, then
// one of a year before and an early one, a sandbox that it is held against, the schemas of what
// it exports, and what looks for faults in its pages, by npm's names. opencode before 1.3 needs
// a route to npm or to a list of models at each start, which the fence of these tests has not.
var versions = map[string][]string{"@anthropic-ai/claude-code": {"2.1.332", "2.0.59", "0.2.126"}, "@openai/codex": {"0.171.0", "0.63.0", "0.20.0"}, "opencode-ai": {"1.18.33", "1.14.34", "1.3.0"},
	"@anthropic-ai/sandbox-runtime": {"0.0.83"}, "@microsoft/jest-sarif": {"1.0.0-beta.0"}, "mocha-junit-reporter": {"2.2.1"}, "axe-core": {"4.14.1"}}

// beside is what npm installs with a release that is a script of node, because the fence has
// no node.
var beside = map[string]string{"@anthropic-ai/claude-code@2.0.59": "node@20.9.0", "@anthropic-ai/claude-code@0.2.126": "node@20.9.0"}

// Releases are the releases of a program that Ward is tried with, the newest first.
func Releases(name string) []string { return versions[name] }

// npmCache keeps installed programs for the next run: they take a gigabyte.
const npmCache = "/var/tmp/git-ward-test/npm"

// Install installs the newest release of a real program (InstallRelease).
func Install(t testing.TB, name string) string {
	t.Helper()
	return InstallRelease(t, name, versions[name][0])
}

// InstallRelease installs a real program by npm and returns npm's prefix. If that is not
// possible, the test is skipped.
func InstallRelease(t testing.TB, name, version string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("slow")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("SKIPPED: npm is not installed, so no real program can be tried")
	}
	limited, err := exec.LookPath("timeout")
	if err != nil {
		t.Skip("SKIPPED: timeout is not installed, and without it a registry that does not answer holds up the test")
	}
	dir := filepath.Join(npmCache, strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-")+"-"+version)
	if err := os.MkdirAll(npmCache, 0o755); err != nil {
		t.Fatal(err)
	}
	// One test process installs, the others take what it made; with the lock in
	// our hands, an unfinished one is of a process that was killed.
	lock, err := flock.Dir(npmCache)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	made, err := scratch.Make(npmCache, "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer made.Remove()
	temp := made.Path
	what := []string{"install", "--prefix", temp, "--no-audit", "--no-fund", name + "@" + version}
	if more := beside[name+"@"+version]; more != "" {
		what = append(what, more)
	}
	// A registry that does not answer is none, and the others wait for the lock.
	if out, err := exec.Command(limited, append([]string{"--kill-after=10", "600", npm}, what...)...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: npm install %s: %v\n%s", name, err, out)
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := made.Keep(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ByProgram plays a model for any of the real programs: it works by the program's
// own tool for commands, asks Ward's MCP server for the directives, and ends with
// what it heard.
func ByProgram(r *Request) Turn {
	const work = `echo "$(git config user.name) in $HOME" >made.txt && git add -A && git commit -qm by-program && echo left >left.txt`
	shell := Call{Name: "Bash", Args: `{"command":` + quoted(work) + `,"description":"work"}`}
	read := Call{Name: r.Find("comms_read"), Args: `{"directive":"D-1"}`}
	switch {
	case len(r.Tools) == 0:
		return Turn{Text: "a title"} // a side job
	case r.Has("functions/exec"): // a tool that runs JavaScript, which calls all others
		exec := func(code string) Call { return Call{Name: "functions/exec", Args: code, Custom: true} }
		shell = exec(`text((await tools.exec_command({cmd: ` + quoted(work) + `})).output)`)
		read = exec(`text(await tools.mcp__ward__comms_read({directive: "D-1"}))`)
	case r.Has("exec_command"):
		shell = Call{Name: "exec_command", Args: `{"cmd":` + quoted(work) + `}`}
	case r.Has("shell_command"):
		shell = Call{Name: "shell_command", Args: `{"command":` + quoted(work) + `}`}
	case r.Has("shell"):
		shell = Call{Name: "shell", Args: `{"command":["bash","-c",` + quoted(work) + `]}`}
	case r.Has("bash"):
		shell.Name = "bash"
	}
	if len(r.Made) == 0 {
		return Turn{Text: "I work.", Calls: []Call{shell}}
	}
	if read.Name != "" && len(r.Made) == 1 {
		return Turn{Calls: []Call{read}}
	}
	heard := "nothing"
	if len(r.Made) > 1 && len(r.Results) == 1 && strings.Contains(r.Results[0].Text, "make a file") {
		heard = "make a file"
	}
	return Turn{Text: "made.txt is there.\nD-1 says: " + heard + "."}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
