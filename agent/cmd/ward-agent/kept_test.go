package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	prompts "git-ward/agent/prompt"
	"git-ward/internal/await"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// half is a worker who does half of his work, with a secret beside it, and never comes to the
// rest; and the next one, who ends what he finds. Both tell what they see in a directory.
const half = `cd "$2"
if test ! -e "$1/first"; then
	printf ghp_%s 0123456789abcdefghijABCDEFGHIJ012345 >token.txt
	echo half >half.txt # last: whoever keeps it has met the secret
	echo $PPID >"$1/pid"
	echo "$2" >"$1/first"
	sleep 1000
fi
ls >"$1/list"
mv half.txt made.txt && echo made.txt is there.
`

// TestKeptTree: a worker is killed in the middle of an iteration, and all his clones are gone.
// The next one goes on with what he had changed and not committed, be it a program or a model
// that plans, and though the directive was edited meanwhile; a secret among it is nowhere.
func TestKeptTree(t *testing.T) {
	tier.Full(t, "agents that run for many seconds")
	for _, name := range []string{"a program", "a plan", "an edited text"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script := filepath.Join(dir, "work.sh")
			if err := os.WriteFile(script, []byte(half), 0o644); err != nil {
				t.Fatal(err)
			}
			work := fmt.Sprintf("sh %s %s", script, dir)
			settings := map[string]string{"agent.keep": `"200ms"`, "model.name": `"exec"`,
				"model.command": fmt.Sprintf(`["sh", "-c", "cat >>%s/told; exec %s $PWD"]`, dir, work)}
			if name == "a plan" {
				settings = map[string]string{"agent.keep": `"200ms"`, "model.name": `"anthropic"`, "model.id": `"claude-test"`}
			}
			h := newHost(t, func(r *modeltest.Request) modeltest.Turn {
				turn := plans(r)
				for i, c := range turn.Calls {
					turn.Calls[i].Args = strings.Replace(c.Args, `overwrite_file_with_block made.txt\n\u003cmade\u003e \u0026 done\n---\nrun_in_bash_session\nenv\n`, `run_in_bash_session\n`+work+` $PWD\n`, 1)
				}
				return turn
			}, settings)
			type end struct {
				log string
				err error
			}
			ended := make(chan end, 1)
			go func() {
				log, err := h.try()
				ended <- end{log, err}
			}()
			read := func(name string) string {
				data, _ := os.ReadFile(filepath.Join(dir, name))
				return strings.TrimSpace(string(data))
			}
			const kept = "refs/heads/rescue/D-1-kept-1"
			await.True(t, "half of it is kept", func() bool {
				return strings.Contains(h.bare("for-each-ref", kept), kept) && strings.Contains(h.bare("ls-tree", "-r", "--name-only", kept), "half.txt")
			})
			agent := agentOf(t, read("pid"))
			if err := syscall.Kill(agent, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if name == "an edited text" {
				document, err := os.ReadFile(filepath.Join(h.Work, comms.Path))
				if err != nil {
					t.Fatal(err)
				}
				h.Write(comms.Path, strings.Replace(string(document), "Make made.txt.", "Make made.txt, please.", 1))
				h.Git("commit", "--quiet", "--all", "--message", "D-1: please")
				h.Git("push", "--quiet", "origin", "main")
			}
			clones := filepath.Dir(filepath.Dir(read("first")))
			if err := os.Rename(clones, clones+".lost"); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(agent, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			e := await.Value(t, "the end of the launch", ended)
			if e.err != nil {
				t.Errorf("%v\n%s", e.err, e.log)
			}
			if list := read("list"); !strings.Contains(list, "half.txt") || strings.Contains(list, "token.txt") {
				t.Errorf("the next worker found:\n%s\n%s", list, e.log)
			}
			told := read("told")
			if name == "a plan" {
				told = h.told()
			}
			if strings.Count(told, prompts.Uncommitted) == 0 {
				t.Errorf("it is not told:\n%s", told)
			}
			unit := "D-1.1"
			if name == "an edited text" {
				unit = "D-1.2"
			}
			if journal := h.Run(h.Bare, "git-ward", "uow", "show", unit); !strings.Contains(journal, prompts.Uncommitted) {
				t.Errorf("the journal does not say so:\n%s", journal)
			}
			if status, text := h.report(); status != "EXIT_CONVERGED" {
				t.Errorf("%s: %s\n%s", status, text, e.log)
			}
			if left := h.bare("for-each-ref", "refs/heads/rescue"); left != "" {
				t.Errorf("a unit that is done has something kept:\n%s", left)
			}
			if all := h.bare("log", "--all", "--name-only", "--format="); strings.Contains(all, "token.txt") || !strings.Contains(e.log, "token.txt") {
				t.Errorf("the secret entered, or nobody was told:\n%s\n%s", all, e.log)
			}
			h.Fsck()
		})
	}
}

// agentOf is the agent among the processes that a command descends from.
func agentOf(t *testing.T, pid string) int {
	t.Helper()
	for range 9 {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		name, rest, _ := strings.Cut(string(stat), ") ")
		if strings.HasSuffix(name, "(ward-agent") {
			var id int
			if _, err := fmt.Sscan(pid, &id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		pid = strings.Fields(rest)[1]
	}
	t.Fatal("no agent is above it")
	return 0
}
