package command_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/gittest"
)

// editor is a $EDITOR that keeps what it was shown and writes a text of its own.
func editor(t *testing.T, text string) (env []string, shown func() string) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string]string{"text": text, "ed": "#!/bin/sh\ncp \"$1\" " + dir + "/shown\ncp " + dir + "/text \"$1\"\n"} {
		gittest.Program(t, filepath.Join(dir, name), data)
	}
	return []string{"GIT_EDITOR=" + filepath.Join(dir, "ed")}, func() string {
		data, err := os.ReadFile(filepath.Join(dir, "shown"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// A directive is written and edited in an editor, from anywhere, with no working tree
// touched; what is broken is kept, and what is empty changes nothing (CTRL-1).
func TestDirectives(t *testing.T) {
	p := newCopy(t)
	p.Write("COMMS.md", "mine\n")
	p.Git("checkout", "--quiet", "--detach")
	env, shown := editor(t, "one by hand\n\nThe goal.\n\n- [ ] it is (`true`)\n\n# ------------------------ >8 ------------------------\nhelp\n")
	out := wardIn(t, p, p.Work, 0, env, "directive", "new")
	gittest.InOrder(t, out, "D-7 one by hand: pushed to main as "+tip(p, "main")[:12]+"; no working tree was touched\n")
	gittest.InOrder(t, shown(), "\n\n# ----", ">8", "- [ ] it greets", "max_iterations")
	gittest.InOrder(t, p.Run(p.Bare, "git", "show", "main:COMMS.md"), "### D-6: one more\n", "### D-7: one by hand\n\nThe goal.\n\n- [ ] it is (`true`)\n\n## Reports\n")
	gittest.InOrder(t, p.Run(p.Bare, "git", "log", "-1", "--format=%an %s", "main"), "Pat D-7: one by hand\n")
	if data, _ := os.ReadFile(filepath.Join(p.Work, "COMMS.md")); string(data) != "mine\n" {
		t.Errorf("the working tree: %q", data)
	}

	main := tip(p, "main")
	for _, text := range []string{"", "\n\n", "\n# ------------------------ >8 ------------------------\nhelp"} {
		env, _ := editor(t, text)
		if out := wardIn(t, p, p.Work, 1, env, "directive", "new"); out != "git-ward: error: the text is empty, so nothing was changed\n" {
			t.Errorf("%s", out)
		}
	}
	env, _ = editor(t, "broken\n\n- max_iteration: 3\n")
	out = wardIn(t, p, p.Work, 1, env, "directive", "new")
	all, _ := filepath.Glob(filepath.Join(p.Work, ".git/WARD_DIRECTIVE.*.md"))
	if len(all) != 1 { // of what arrived, or was empty, nothing is kept
		t.Fatalf("kept: %q", all)
	}
	kept := all[0]
	gittest.InOrder(t, out, "text:3:3: comms/key: ", `did you mean "max_iterations"?`, "git-ward: error: the text breaks the grammar of COMMS.md, and was not pushed\n", "git-ward: hint: the text is kept in "+kept+"; git ward directive new -F "+kept)
	if data, err := os.ReadFile(kept); string(data) != "broken\n\n- max_iteration: 3\n" || tip(p, "main") != main {
		t.Errorf("kept: %q %v", data, err)
	}
	if err := os.WriteFile(kept, []byte("mended\n\n- [ ] x (`true`)\n- max_iterations: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gittest.InOrder(t, ward(t, p, 0, "directive", "new", "--untried", "-F", kept), "D-8 mended: pushed")
	gittest.InOrder(t, wardIn(t, p, p.Work, 2, []string{"GIT_EDITOR=false"}, "directive", "new"), `the editor "false" ended with an error, and nothing was changed`, "the text is kept in ")
	if data, err := os.ReadFile(kept); !strings.HasPrefix(string(data), "mended\n") {
		t.Errorf("another directive took its file: %q %v", data, err)
	}

	env, shown = editor(t, "### D-8: mended twice\n\n- [ ] x (`true`)\n")
	gittest.InOrder(t, wardIn(t, p, p.Work, 0, env, "directive", "edit", "D-8"), "D-8 mended twice: pushed")
	gittest.InOrder(t, shown(), "### D-8: mended\n\n- [ ] x (`true`)\n- max_iterations: 3\n\n# ----")
	gittest.InOrder(t, ward(t, p, 0, "directive", "edit", "--untried", "-m", "mended twice\n\n- [ ] x (`true`)", "D-8"), "D-8 is as it was, and nothing was pushed\n")
	gittest.InOrder(t, ward(t, p, 1, "directive", "edit", "--untried", "-m", "### D-7: x\n\ny", "D-8"), "begins with another id than D-8")
	gittest.InOrder(t, ward(t, p, 1, "directive", "edit", "--untried", "-m", "x", "D-9"), "COMMS.md has no D-9\n")
	out, err := p.Try(p.Work, nil, "from stdin\n\n- [ ] x (`true`)\n", "git-ward", "directive", "new", "--untried", "-F", "-", "--bare", p.Bare)
	if err != nil || !strings.HasPrefix(out, "D-9 from stdin: pushed") {
		t.Errorf("%v %s", err, out)
	}
	p.Fsck()
}

// No id comes twice, whoever took the directive out, and whoever is faster.
func TestDirectiveIDs(t *testing.T) {
	p := newCopy(t)
	p.Git("pull", "--quiet", "--rebase")
	data, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	p.Write("COMMS.md", strings.Replace(string(data), "### D-6: one more\n\n- [ ] x (`true`)\n", "", 1))
	p.Git("commit", "--quiet", "-am", "D-6 goes")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(out)
	}
	gittest.InOrder(t, ward(t, p, 0, "directive", "new", "--untried", "-m", "next\n\n- [ ] x (`true`)"), "D-7 next: pushed")
	gittest.InOrder(t, ward(t, p, 1, "directive", "new", "--untried", "-m", "### D-6: again\n\n- [ ] x (`true`)"), "text:1:5: comms/reused-id: D-6 was used before", "D-8")
	// Many at once: each gets an id of its own.
	type end struct {
		out string
		err error
	}
	ends := make(chan end)
	for i := range 4 {
		go func() {
			out, err := p.Try(filepath.Dir(p.Bare), nil, "", "git-ward", "directive", "new", "--untried", "--bare", p.Bare, "-m", fmt.Sprintf("at once %d\n\n- [ ] x (`true`)", i))
			ends <- end{out, err}
		}()
	}
	for range 4 {
		if e := <-ends; e.err != nil {
			t.Errorf("%v %s", e.err, e.out)
		}
	}
	comms := p.Run(p.Bare, "git", "show", "main:COMMS.md")
	gittest.InOrder(t, comms, "### D-8: at once", "### D-9: at once", "### D-10: at once", "### D-11: at once", "## Reports")
	p.Fsck()
}

// TestDirectiveBeside: a directive that somebody pushes while another one is written stays.
func TestDirectiveBeside(t *testing.T) {
	p := newCopy(t)
	held := filepath.Join(t.TempDir(), "held")
	slow := p.Command(filepath.Dir(p.Bare), []string{failpoint.Var + "=command/read=hold:" + held}, "git-ward", "directive", "new", "--untried", "--bare", p.Bare, "-m", "slow\n\n- [ ] x (`true`)")
	ended := make(chan error, 1)
	go func() {
		out, err := await.Output(t, slow)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		ended <- err
	}()
	await.True(t, "COMMS.md is read", func() bool { _, err := os.Lstat(held); return err == nil })
	p.Run(filepath.Dir(p.Bare), "git-ward", "directive", "new", "--untried", "--bare", p.Bare, "-m", "quick\n\n- [ ] x (`true`)")
	os.Remove(held)
	if err := await.Value(t, "it is pushed", ended); err != nil {
		t.Error(err)
	}
	gittest.InOrder(t, p.Run(p.Bare, "git", "show", "main:COMMS.md"), "### D-7: quick", "### D-8: slow", "## Reports")
	p.Fsck()
}

// Lists and shows say where each stands; their JSON has these members.
func TestDirectiveList(t *testing.T) {
	p := newCopy(t)
	for _, dir := range []string{p.Work, p.Bare} {
		gittest.InOrder(t, wardIn(t, p, dir, 0, nil, "directive", "show"), "DIRECTIVE  STATE                UNIT   VERDICT     WAITS FOR", "TITLE\n",
			"D-1        ready to take        D-1.1  proved      you: git ward review D-1", "greet the user\n",
			"D-4        ended without proof  D-4.1  not proved  you: git ward directive edit D-4, or git ward drop D-4", "D-5        in progress          D-5.1  -           the agent", "D-6        not begun            -      -           the agent")
	}
	walks := 0 // of the project's history, which are as many for five directives as for five hundred
	for _, child := range killed(t, p, 0, "", "directive", "show") {
		for _, walk := range []string{" merge-base ", " rev-list ", " log "} {
			if strings.Contains(" "+child, walk) {
				walks++
			}
		}
	}
	if walks != 3 {
		t.Errorf("%d walks of the history, want 3", walks)
	}
	lines := strings.Split(strings.TrimSpace(ward(t, p, 0, "directive", "show", "--json")), "\n")
	var first map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || len(lines) != 6 {
		t.Fatalf("%v %q", err, lines)
	}
	want := strings.Fields("branch claimed commit current directive next or report schema_version state taken_by title unit unit_state verdict waits_for")
	if got := slices.Sorted(maps.Keys(first)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	gittest.InOrder(t, ward(t, p, 0, "directive", "show", "D-4"), "D-4 do what cannot be: ended without proof; stopped: it got worse and worse; not proved: ", "waits for you, it ended without proof: it got worse and worse; not met: it holds: git ward directive edit D-4", "### D-4: do what cannot be\n", "### R-4 ", "All is done, says the agent.\n")
	gittest.InOrder(t, ward(t, p, 1, "directive", "show", "D-9"), "there is no directive D-9\n")
	for _, args := range [][]string{{"list", "x"}, {"show", "D-1.1"}, {"new", "x"}, {"new", "-m", "a", "-F", "b"}, {"edit"}} {
		gittest.InOrder(t, ward(t, p, 2, append([]string{"directive"}, args...)...), "git-ward: error: ", "usage: git ward directive ")
	}
	gittest.InOrder(t, wardIn(t, p, t.TempDir(), 2, nil, "directive", "show"), "is not in a git repository")

	// A journal that cannot be read hides no other directive.
	p.Run(p.Bare, "git", "update-ref", "refs/ward/uow/D-1.1", "refs/heads/main")
	broken := wardIn(t, p, p.Bare, 2, nil, "directive", "show")
	gittest.InOrder(t, broken, "D-1        broken ", "you, its journal is invalid: git ward fsck", "D-4        ended without proof", "D-6        not begun")
	gittest.InOrder(t, broken, "error: D-1: the stored record ", "hint: git ward fsck on the host")
	if lines := strings.Count(wardIn(t, p, p.Bare, 2, nil, "directive", "show", "--json"), `{"`); lines != 5 {
		t.Errorf("%d of 5 in JSON", lines)
	}
}
