package command_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/held"
	"git-ward/protocols/loop"
)

// TestReviewOfHeldOut: what the controls came to of what is held out says a review on the host,
// and none in a clone (PROOF-5).
func TestReviewOfHeldOut(t *testing.T) {
	p := newCopy(t)
	dir := filepath.Dir(p.Bare)
	if out, err := p.Try(dir, nil, "- [ ] it is loud (`true`)\n", "git-ward", "directive", "hold", "--bare", p.Bare, "D-1"); err != nil {
		t.Fatal(out)
	}
	_, hash, _ := strings.Cut(p.Run(p.Bare, "git", "show", "main:COMMS.md"), "\n- held: 1 ")
	hash, _, _ = strings.Cut(hash, "\n")
	_, commit, _ := strings.Cut(p.Run(dir, "git-ward", "review", "--json", "--bare", p.Bare, "D-1"), `"commit":"`)
	commit, _, _ = strings.Cut(commit, `"`)
	if err := (held.Word{Commit: commit, Says: []string{loop.ControlNotTried}}).Write(p.Bare, "D-1", hash); err != nil {
		t.Fatal(err)
	}
	gittest.InOrder(t, p.Run(dir, "git-ward", "review", "--bare", p.Bare, "D-1"), "look first\n", "criterion that was not shown to be able to fail: ", "criteria[0]; no control: ")
	if out := p.Run(p.Work, "git-ward", "review", "D-1"); strings.Contains(out, "not tried") {
		t.Errorf("a clone says it, too:\n%s", out)
	}
}

// TestHold: criteria and files are kept on the host, and the directive names them.
func TestHold(t *testing.T) {
	p := newCopy(t)
	dir := filepath.Dir(p.Bare)
	hold := func(code int, text string, args ...string) string {
		t.Helper()
		out, err := p.Try(dir, nil, text, "git-ward", append([]string{"directive", "hold"}, args...)...)
		var ended *exec.ExitError
		if err == nil && code != 0 || err != nil && (!errors.As(err, &ended) || ended.ExitCode() != code) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	gittest.Program(t, filepath.Join(dir, "held_test.sh"), "true\n")
	gittest.InOrder(t, hold(0, "- [ ] it is loud (`sh held_test.sh`)\n- [ ] and short (`true`)\n", "--bare", p.Bare, "D-6", "held_test.sh"), "D-6: 2 criteria are held out, with 1 file: pushed to main as ")
	text := p.Run(p.Bare, "git", "show", "main:COMMS.md")
	if n := strings.Count(text, "\n- held: 2 "); n != 1 || strings.Contains(text, "it is loud (`sh held_test.sh`)") {
		t.Errorf("%d lines in\n%s", n, text)
	}
	gittest.InOrder(t, hold(0, "- [ ] one (`true`)\n", "--bare", p.Bare, "D-6"), "D-6: 1 criterion is held out")
	if text := p.Run(p.Bare, "git", "show", "main:COMMS.md"); strings.Count(text, "\n- held: ") != 1 || !strings.Contains(text, "\n- held: 1 ") {
		t.Errorf("%s", text)
	}
	gittest.InOrder(t, hold(0, "", "--bare", p.Bare, "D-6"), "D-6: 0 criteria are held out")
	if text := p.Run(p.Bare, "git", "show", "main:COMMS.md"); strings.Contains(text, "\n- held: ") {
		t.Errorf("%s", text)
	}
	for _, bad := range []struct {
		text, says string
		args       []string
		code       int
	}{
		{"- [ ] it looks good\n", "has no command", []string{"--bare", p.Bare, "D-6"}, 1},
		{"some words\n", "there is no criterion in it", []string{"--bare", p.Bare, "D-6"}, 1},
		{"- [ ] x (`true`)\n", "COMMS.md has no D-99", []string{"--bare", p.Bare, "D-99"}, 1},
		{"- [ ] x (`true`)\n", "is not below this directory", []string{"--bare", p.Bare, "D-6", "../x"}, 2},
		{"- [ ] x (`true`)\n", "is git's own", []string{"--bare", p.Bare, "D-6", "a/.GIT/x"}, 2},
		{"", "takes one directive", []string{"--bare", p.Bare}, 2},
	} {
		gittest.InOrder(t, hold(bad.code, bad.text, bad.args...), bad.says)
	}
	out, err := p.Try(p.Work, nil, "- [ ] x (`true`)\n", "git-ward", "directive", "hold", "D-6")
	if err == nil || !strings.Contains(out, "kept on the host alone, and this is a clone") {
		t.Error(err, out)
	}
	p.Fsck()
}
