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

// versions are the real agent programs that Ward is tried with, a sandbox that it is
// held against, the schemas of what it exports, and what looks for faults in its pages,
// by npm's names.
var versions = map[string]string{"@anthropic-ai/claude-code": "2.1.330", "@openai/codex": "0.169.0", "opencode-ai": "1.18.33",
	"@anthropic-ai/sandbox-runtime": "0.0.83", "@microsoft/jest-sarif": "1.0.0-beta.0", "mocha-junit-reporter": "2.2.1", "axe-core": "4.14.1"}

// npmCache keeps installed programs for the next run: they take a gigabyte.
const npmCache = "/var/tmp/git-ward-test/npm"

// Install installs a real program by npm and returns npm's prefix. If that is not possible,
// the test is skipped.
func Install(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("slow")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("SKIPPED: npm is not installed, so no real program can be tried")
	}
	version := versions[name]
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
	if out, err := exec.Command(npm, "install", "--prefix", temp, "--no-audit", "--no-fund", name+"@"+version).CombinedOutput(); err != nil {
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
	case r.Has("bash"):
		shell.Name = "bash"
	}
	if r.Turns == 0 {
		return Turn{Text: "I work.", Calls: []Call{shell}}
	}
	if read.Name != "" && r.Turns == 1 {
		return Turn{Calls: []Call{read}}
	}
	heard := "nothing"
	if r.Turns > 1 && len(r.Results) == 1 && strings.Contains(r.Results[0].Text, "make a file") {
		heard = "make a file"
	}
	return Turn{Text: "made.txt is there.\nD-1 says: " + heard + "."}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
