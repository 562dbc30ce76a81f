package command

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/cli"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// multiplexer is a tmux of the test's own, with a shell in a pane.
type multiplexer struct {
	t      *testing.T
	p      *gittest.Pair
	socket string
}

func (m *multiplexer) tmux(args ...string) string {
	m.t.Helper()
	out, err := m.p.Try(m.p.Work, []string{"TERM=xterm-256color", "LC_ALL=C.UTF-8"}, "", "tmux", append([]string{"-S", m.socket, "-f", "/dev/null"}, args...)...)
	if err != nil {
		m.t.Fatalf("tmux %s: %v\n%s", args, err, out)
	}
	return out
}

// sees waits until the pane shows a text.
func (m *multiplexer) sees(text string) string {
	m.t.Helper()
	var screen string
	await.True(m.t, "the pane shows "+text, func() bool { screen = m.tmux("capture-pane", "-p"); return strings.Contains(screen, text) })
	return screen
}

// prompts waits until the shell has asked for a command so often: before that, what is typed
// may still be the program's.
func (m *multiplexer) prompts(n int) {
	m.t.Helper()
	await.True(m.t, fmt.Sprintf("the shell's prompt number %d", n), func() bool { return strings.Count(m.tmux("capture-pane", "-p"), "ready>") >= n })
}

// TestWatchInTmux runs watch as people do: in tmux, made narrow and wide, stopped and gone
// on with, left by q and by ctrl-c, and the shell is there again each time.
func TestWatchInTmux(t *testing.T) {
	tier.Full(t, "it starts tmux")
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: there is no tmux: scripts/setup --tests")
	}
	p := gittest.New(t)
	m := &multiplexer{t, p, filepath.Join(t.TempDir(), "tmux")}
	m.tmux("new-session", "-d", "-x", "80", "-y", "24", "sh")
	t.Cleanup(func() { m.tmux("kill-server") })
	m.tmux("send-keys", "PS1='rea''dy> '; git ward watch --bare "+p.Bare, "Enter")
	m.sees("nothing waits for you")
	m.tmux("resize-window", "-x", "10", "-y", "4")
	m.sees("? help")
	m.tmux("resize-window", "-x", "100", "-y", "30")
	m.sees("there is no directive yet: git ward directive new")
	m.tmux("send-keys", "C-z")
	m.prompts(1)
	m.tmux("send-keys", "fg", "Enter")
	m.sees("nothing waits for you")
	m.tmux("send-keys", "q")
	m.prompts(2)
	m.tmux("send-keys", "git ward watch; echo exit $?", "Enter")
	m.sees("a clone, as fetched")
	m.tmux("send-keys", "C-c")
	if screen := m.sees("exit 130"); !strings.Contains(screen, "watch only reads, and nothing was changed") {
		t.Errorf("ctrl-c says nothing:\n%s", screen)
	}
	p.Fsck()
}

// TestWatchArguments: what cannot be watched is refused at once.
func TestWatchArguments(t *testing.T) {
	for line, want := range map[string]string{
		"D-1 D-2":        "watch takes one directive",
		"HEAD":           "watch takes one directive",
		"--interval 1ns": "--interval is from 500ms to 1h0m0s",
	} {
		var said strings.Builder
		err := watch(t.Context(), environment(t, &said, line))
		if err == nil || !strings.Contains(said.String(), want) {
			t.Errorf("%s: %v\n%s", line, err, &said)
		}
	}
}

func environment(t *testing.T, said *strings.Builder, line string) *cli.Env {
	return &cli.Env{Args: strings.Fields(line), Stdin: strings.NewReader(""), Stdout: said, Stderr: said, Dir: t.TempDir(), Getenv: func(string) string { return "" }}
}
