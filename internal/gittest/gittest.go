// Package gittest gives tests real repositories guarded by real hooks. It builds Ward's
// binaries once, and makes bare repositories, clones and pushes with the machine's git.
package gittest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/pattern"
	"git-ward/internal/scratch"
	"git-ward/internal/token"
)

// BinVar is the environment variable in which scripts/test passes a directory with all of
// Ward's binaries, so that they are linked once for a run and not for each package.
const BinVar = "WARD_TEST_BIN"

// Bin is a directory with all of Ward's binaries, armed for failpoints
// (internal/failpoint): the one that BinVar names, or one built from the tree under
// test once per test process. The caller's TestMain removes it with Clean.
var Bin = sync.OnceValues(func() (string, error) {
	if err := Tree(); err != nil {
		return "", err
	}
	if dir := os.Getenv(BinVar); dir != "" {
		return dir, nil
	}
	// What a killed test left is removed with the next: it takes 100 MB.
	made, err := scratch.Make("", "bin-")
	if err != nil {
		return "", err
	}
	built = made
	dir := made.Path
	if err := os.Chmod(dir, 0o755); err != nil { // a fence's user reads it, too
		return "", err
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if out, err := exec.Command(filepath.Join(root, "scripts/build"), "--armed", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("scripts/build: %w\n%s", err, out)
	}
	return dir, nil
})

// moduleRoot is the directory of go.mod, above the package under test.
var moduleRoot = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod is above the tests")
		}
	}
	return "", err
})

// Tree makes the whole source tree an input of the calling test for go test's cache. By itself
// go test counts only the test's packages and the files that its own process opens, and not
// what a command reads that the test starts, such as `go build`.
var Tree = sync.OnceValue(func() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err // to read a directory is to look at the size and time of each of its files
		}
		if name := d.Name(); name == ".git" || path == filepath.Join(root, "bin") {
			return filepath.SkipDir
		}
		return nil
	})
})

// built and template are what Clean removes.
var built, template *scratch.Dir

// Clean removes what Bin built and New copied. Call it at the end of TestMain.
func Clean() {
	for _, dir := range []*scratch.Dir{built, template} {
		if dir != nil {
			dir.Remove()
		}
	}
}

// Environ is a git environment that depends on nothing of the user's: fixed
// identity and time zone, no system or global configuration, Ward's binaries
// first on PATH.
func Environ(home string) ([]string, error) {
	bin, err := Bin()
	if err != nil {
		return nil, err
	}
	return []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Pat", "GIT_AUTHOR_EMAIL=pat@example.org",
		"GIT_COMMITTER_NAME=Pat", "GIT_COMMITTER_EMAIL=pat@example.org",
	}, nil
}

// AgentToken is the environment by which the door proves that a push is the
// agent's (ID-1), for pushes that a test sends without a door.
func AgentToken(bare string) ([]string, error) {
	key, err := os.ReadFile(filepath.Join(bare, token.KeyFile))
	if err != nil {
		return nil, err
	}
	return token.Environ(key, token.NewID(time.Now()), "", ""), nil
}

// Pair is a guarded bare repository and a clone of it.
type Pair struct {
	T    testing.TB
	Bare string
	Work string
	Env  []string
	// Within is put in front of every command line, such as nsenter's with the
	// namespaces that the command is to run in; none: nothing.
	Within []string
}

// fresh is a guarded repository and a clone of it that nobody has used. Making them takes
// some forty children of git, so they are made once a test process and copied.
var fresh = sync.OnceValues(func() (string, error) {
	made, err := scratch.Make("", "pair-")
	if err != nil {
		return "", err
	}
	template = made
	dir := made.Path
	env, err := Environ(dir)
	if err != nil {
		return "", err
	}
	bin, err := Bin()
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{{"init", "--bare", "remote.git"}, {"clone", filepath.Join(dir, "remote.git"), "work"}} {
		cmd := exec.Command(filepath.Join(bin, "git-ward"), args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git-ward %s: %w\n%s", args[0], err, out)
		}
	}
	return dir, nil
})

// New makes a Pair in a temporary directory.
func New(t testing.TB) *Pair {
	t.Helper()
	dir := t.TempDir()
	env, err := Environ(dir)
	if err != nil {
		t.Fatal(err)
	}
	from, err := fresh()
	if err != nil {
		t.Fatal(err)
	}
	p := &Pair{T: t, Bare: filepath.Join(dir, "remote.git"), Work: filepath.Join(dir, "work"), Env: env}
	p.Run(dir, "cp", "--archive", filepath.Join(from, "remote.git"), filepath.Join(from, "work"), dir)
	p.Git("remote", "set-url", "origin", p.Bare)
	p.Git("update-index", "--refresh") // the copies are other files than the index knows
	return p
}

// Run runs a program in a directory and returns its standard output and error
// together; any end but exit 0 fails the test.
func (p *Pair) Run(dir, name string, args ...string) string {
	p.T.Helper()
	out, err := p.Try(dir, nil, "", name, args...)
	if err != nil {
		p.T.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// Git runs git in the clone.
func (p *Pair) Git(args ...string) string {
	p.T.Helper()
	return p.Run(p.Work, "git", args...)
}

// waiting is what a slow machine's user is told (cli.Env.Slow). It comes on standard error, so it
// may stand amid a long line of the output.
var waiting = pattern.New(`git-ward: [^\n:]* \.\.\.\n`)

// Try runs a program with additional environment and input, and returns its output whether it
// failed or not, without the lines that appear only on a slow machine.
func (p *Pair) Try(dir string, env []string, stdin, name string, args ...string) (string, error) {
	p.T.Helper()
	cmd := p.Command(dir, env, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := await.Output(p.T, cmd)
	return waiting.Regexp().ReplaceAllString(out, ""), err
}

// Command is a program to start, with additional environment.
func (p *Pair) Command(dir string, env []string, name string, args ...string) *exec.Cmd {
	p.T.Helper()
	path := name
	if bin, err := Bin(); err == nil {
		if _, err := os.Stat(filepath.Join(bin, name)); err == nil {
			path = filepath.Join(bin, name)
		}
	}
	line := append([]string{path}, args...)
	if len(p.Within) > 0 {
		// Whoever enters a mount namespace stands at its root.
		line = append(append(slices.Clone(p.Within), "/bin/sh", "-c", `cd "$0" && exec "$@"`, dir), line...)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append([]string{}, p.Env...), env...)
	return cmd
}

// Push pushes refspecs as the PM and returns what git said.
func (p *Pair) Push(refspecs ...string) (string, error) {
	p.T.Helper()
	return p.Try(p.Work, nil, "", "git", append([]string{"push", "origin"}, refspecs...)...)
}

// AgentPush pushes refspecs as the agent.
func (p *Pair) AgentPush(refspecs ...string) (string, error) {
	p.T.Helper()
	env, err := AgentToken(p.Bare)
	if err != nil {
		p.T.Fatal(err)
	}
	return p.Try(p.Work, env, "", "git", append([]string{"push", "origin"}, refspecs...)...)
}

// Write writes a file of the clone, with its directories.
func (p *Pair) Write(name, content string) {
	p.T.Helper()
	path := filepath.Join(p.Work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.T.Fatal(err)
	}
}

// Commit writes a file and commits it on the present branch.
func (p *Pair) Commit(name, content string) {
	p.T.Helper()
	p.Write(name, content)
	p.Git("add", "--force", "--", name)
	p.Git("commit", "--quiet", "-m", "change "+name)
}

// Object stores an object without git's own checks and returns its id.
func (p *Pair) Object(kind, content string) string {
	p.T.Helper()
	out, err := p.Try(p.Work, nil, content, "git", "hash-object", "-t", kind, "--literally", "-w", "--stdin")
	if err != nil {
		p.T.Fatalf("hash-object: %v\n%s", err, out)
	}
	return strings.TrimSpace(out)
}

// Fsck fails the test unless both git fsck and git ward fsck find the repository whole. git
// fsck reads objects before refs and reflogs, so during a push it reports new commits as
// missing; then it is run again.
func (p *Pair) Fsck() {
	p.T.Helper()
	for tries := 0; ; tries++ {
		// Maintenance packs objects, and takes them from where git looks for them.
		stand := func() string {
			return p.Run(p.Bare, "git", "for-each-ref") + p.Run(p.Bare, "git", "count-objects", "--verbose")
		}
		before := stand()
		out, err := p.Try(p.Bare, nil, "", "git", "fsck", "--strict", "--no-dangling")
		if err == nil {
			break
		}
		if tries == 20 || stand() == before {
			p.T.Fatalf("git fsck: %v\n%s", err, out)
		}
	}
	p.Run(p.Bare, "git-ward", "fsck")
}
