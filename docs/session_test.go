package docs_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// session is one shell in which a document's commands run from top to bottom, as a
// reader would paste them: what one changes, directory and variables, the next sees.
type session struct {
	home   string // its home; it begins in home/here
	stdin  io.Writer
	status *bufio.Reader // the exit code of each command, a line
	files  int
	forge  bool // it has a project on a Gitea
}

// start makes a session in a directory of its own, with Ward's binaries on PATH, an
// identity for git, and an $EDITOR that writes what the document says to write.
func start(t *testing.T) *session {
	t.Helper()
	home := t.TempDir()
	here := filepath.Join(home, "here")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	env, err := gittest.Environ(home)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := source(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir = here
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	env = append(env, "GOCACHE="+cache, "GOMODCACHE="+modules) // Go's own would be below the session's home
	cmd.Env = append(env, "EDITOR="+self, editorBlock+"="+filepath.Join(home, "block"), "WARD="+root)
	cmd.ExtraFiles = []*os.File{write}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
		read.Close()
	})
	return &session{home: home, stdin: stdin, status: bufio.NewReader(read)}
}

// source is the project's tree. Where root runs the tests in another user's, it is a copy
// that root owns: scripts/install builds only as the owner of the source.
func source(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(root)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 || info.Sys().(*syscall.Stat_t).Uid == 0 {
		return root
	}
	own := t.TempDir()
	cmd := exec.Command("sh", "-c", `tar -C "$0" --exclude=./.git --exclude=./bin -c . | tar -C "$1" --no-same-owner -x`, root, own)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return own
}

// run executes one command and returns what it printed, on both streams, and its
// exit code.
func (s *session) run(t *testing.T, command string) (output string, code int) {
	t.Helper()
	s.files++
	script := filepath.Join(s.home, fmt.Sprintf("command%d", s.files))
	if err := os.WriteFile(script, []byte(command), 0o600); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(s.stdin, ". %s >%s.out 2>&1 </dev/null 3>&-; echo $? >&3\n", script, script)
	line, err := s.status.ReadString('\n')
	if err != nil {
		t.Fatalf("the shell ended: %v", err)
	}
	if code, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(script + ".out")
	if err != nil {
		t.Fatal(err)
	}
	return string(data), code
}

// write puts a block's text where its attribute file= says, or else where $EDITOR
// takes it from.
func (s *session) write(t *testing.T, b block) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.home, "block"), []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	if name := b.attrs["file"]; name != "" {
		if out, code := s.run(t, fmt.Sprintf("mkdir -p \"$(dirname %[1]s)\" && cat %[2]s/block > %[1]s", name, s.home)); code != 0 {
			t.Fatal(out)
		}
	}
}

// statements cuts a sh block into its statements, each with its line.
func statements(b block) ([]example, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(b.text), "")
	if err != nil {
		return nil, err
	}
	var all []example
	for i, s := range file.Stmts {
		end := len(b.text)
		if i+1 < len(file.Stmts) {
			end = int(file.Stmts[i+1].Pos().Offset())
		}
		all = append(all, example{line: b.line + int(s.Pos().Line()), command: b.text[s.Pos().Offset():end]})
	}
	return all, nil
}

func TestStatements(t *testing.T) {
	all, err := statements(block{line: 4, text: "cd x # there\ncat <<END >y\na\nEND\ntrue\n"})
	if err != nil || len(all) != 3 || all[1].line != 6 || all[1].command != "cat <<END >y\na\nEND\n" || all[2].line != 9 {
		t.Errorf("%+v %v", all, err)
	}
}

func TestSessionKeepsItsState(t *testing.T) {
	tier.First(t, "it builds Ward's binaries")
	s := start(t)
	s.run(t, "mkdir sub; cd sub; X=1")
	if out, code := s.run(t, `echo "$X ${PWD##*/}"; echo err >&2; (exit 3)`); out != "1 sub\nerr\n" || code != 3 {
		t.Errorf("%q, exit %d", out, code)
	}
}
