package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// Two directives that began from one main are taken one after the other: each is one
// commit of main, and the second is taken although nobody judged the two together, on the
// PM's word (story 2). What was taken counts as taken everywhere.
func TestTake(t *testing.T) {
	p := newCopy(t)
	p.Git("pull", "--quiet", "--rebase")
	before := tip(p, "main")
	claimed := claim(t, p, "D-1.1")
	out := ward(t, p, 0, "take", "D-1")
	gittest.InOrder(t, out, "taken: D-1 greet the user, 6 files changed", "is on main as ", ", and pushed\n", "you took it with: ", "1 file of instructions to agents",
		"the working tree "+p.Work+" has it\n", "undo: git revert --no-edit -m 1 ", " && git push origin main\n")
	merge := tip(p, "main")
	if got := p.Git("rev-parse", "HEAD", merge+"^1", merge+"^2"); got != merge+"\n"+before+"\n"+claimed+"\n" {
		t.Errorf("HEAD and parents: %s, want %s %s %s", got, merge, before, claimed)
	}
	gittest.InOrder(t, p.Git("log", "-1", "--format=%an%n%B"), "Pat\nMerge D-1: greet the user\n\nVerdict EXACT of D-1.1 on "+claimed, "\nWard-Directive: D-1\n")
	if out := p.Run(p.Work, "sh", "greet.sh", "Ada"); out != "Hello, Ada.\n" {
		t.Errorf("the working tree: %q", out)
	}
	gittest.InOrder(t, ward(t, p, 0, "take", "D-1"), "D-1 was taken already, by "+merge+"\n", "had it\n")
	gittest.InOrder(t, ward(t, p, 1, "take", "D-1", strings.Repeat("1", 40)), "D-1.1 claims "+claimed[:12]+" by now, and not 1111")

	for range 2 { // the second asks for the same commit
		out = ward(t, p, 1, "take", "--no-wait", "D-2")
		gittest.InOrder(t, out, "git-ward: error: D-2: the project has moved on since the verdict (", "greet.sh", " changed beside it), and the host has not judged the merged tree yet\n",
			"git-ward: hint: it does while git ward launch runs, and git ward take D-2.1 goes on then; git ward take --unjudged D-2.1 takes it all the same; git ward uow fork D-2.1")
	}
	if got := p.Run(p.Bare, "git", "log", "-1", "--format=%P %an", "refs/ward/take/D-2.1"); got != merge+" "+claim(t, p, "D-2.1")+" Pat\n" {
		t.Errorf("the host is asked about %s", got)
	}
	gittest.InOrder(t, ward(t, p, 0, "review", "D-2"), "the project has moved on, so the merged tree is not judged", "\nnext: git ward take D-2.1 (the project has moved on, so the host judges the merged tree first)")
	if tip(p, "main") != merge {
		t.Fatal("a refused take moved main")
	}
	out = ward(t, p, 0, "take", "--unjudged", "--squash", "D-2")
	gittest.InOrder(t, out, "taken: D-2 say bye, 1 file changed", "undo: git revert --no-edit "+tip(p, "main"))
	squash := tip(p, "main")
	if got := p.Git("rev-parse", squash+"^@"); got != merge+"\n" {
		t.Errorf("the parents of a squash: %s", got)
	}
	gittest.InOrder(t, p.Git("log", "-1", "--format=%B"), "D-2: say bye\n", "\n- ", "\nWard-Directive: D-2\n", "Ward-Taken: "+claim(t, p, "D-2.1")+"\n")
	gittest.InOrder(t, ward(t, p, 0, "take", "D-2"), "D-2 was taken already, by "+squash+"\n")
	gittest.InOrder(t, ward(t, p, 0, "directive", "show"), "D-1        taken", "D-2        taken", "D-3        ready to take", "D-4        ended without proof", "D-5        in progress", "D-6        not begun")
	gittest.InOrder(t, ward(t, p, 0, "review", "D-2"), "D-2 say bye: taken by "+squash[:12], "+echo Bye\n")

	out = ward(t, p, 1, "take", "--unjudged", "D-3")
	gittest.InOrder(t, out, "D-3.1 conflicts with what the project did meanwhile, in: greet.sh\n", "git ward uow fork D-3.1", "git merge ")
	// The undo line is one that can be typed.
	p.Git("revert", "--no-edit", "-m", "1", merge)
	if out, err := p.Push("main"); err != nil || p.Git("ls-files", "greet.sh", "bye.sh") != "bye.sh\n" {
		t.Errorf("undo: %s", out)
	}
	p.Fsck()
}

// claim is the commit that a unit claimed last.
func claim(t *testing.T, p *gittest.Pair, unit string) string {
	t.Helper()
	var r struct{ Claim struct{ Commit string } }
	if err := json.Unmarshal([]byte(p.Run(p.Bare, "git", "show", "refs/ward/uow/"+unit+":uow.json")), &r); err != nil {
		t.Fatal(err)
	}
	return r.Claim.Commit
}

// What is not judged, or was judged for something else, is not taken; nothing moves.
func TestTakeRefused(t *testing.T) {
	p := newCopy(t)
	edit := func(id, from, to string) {
		t.Helper()
		p.Git("pull", "--quiet", "--rebase")
		data, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
		if err != nil {
			t.Fatal(err)
		}
		p.Write("COMMS.md", strings.Replace(string(data), from, to, 1))
		p.Git("commit", "--quiet", "-am", id)
		if out, err := p.Push("main"); err != nil {
			t.Fatal(out)
		}
	}
	refuse := func(why string, args ...string) {
		t.Helper()
		before := tip(p, "main")
		out := ward(t, p, 1, append([]string{"take"}, args...)...)
		gittest.InOrder(t, out, "git-ward: error: ", why)
		if strings.Count(out, "git-ward: error: ") != 1 || tip(p, "main") != before {
			t.Errorf("%s", out)
		}
	}
	refuse("the verdict on ", "D-4")
	refuse("D-5.1 claimed nothing yet", "D-5")
	refuse("there is no work on D-6 yet", "D-6")
	refuse("there is no directive D-9", "D-9")
	refuse("D-1.1 claims ", "D-1", "0123456789")
	gittest.InOrder(t, ward(t, p, 2, "take", "D-1", "x"), "is not an object id")
	edit("D-2", "Add bye.sh.", "Add another bye.sh.")
	refuse("is for another text of D-2, which was edited since", "D-2")
	edit("D-3", "### D-3: greet loudly\n\nAdd greet.sh.\n\n- [ ] it is loud (`sh greet.sh Ada | grep -x \"HELLO, Ada.\"`)\n- max_iterations: 2\n", "")
	refuse("COMMS.md has no D-3 any more", "D-3")
	// A later NONE takes an EXACT back.
	claimed := claim(t, p, "D-1.1")
	note := p.Run(p.Bare, "git", "notes", "--ref=certificates", "show", claimed)
	line := strings.Replace(note[:strings.IndexByte(note, '\n')], `"verdict":"EXACT"`, `"verdict":"NONE"`, 1)
	p.Run(p.Bare, "git", "notes", "--ref=certificates", "append", "-m", line, claimed)
	refuse("is NONE: ", "D-1")
	gittest.InOrder(t, ward(t, p, 0, "review", "D-1"), "D-1 greet the user: ended without proof; it was reported as done; not proved: ")
}

// Working trees: what is dirty, elsewhere or ahead is left alone, and told so.
func TestTakeAndTrees(t *testing.T) {
	tier.Full(t, "a repository for each of ten states of a tree")
	for name, test := range map[string]struct {
		before func(p *gittest.Pair)
		says   string
		has    bool // the working tree has it afterwards
	}{
		"dirty":                {func(p *gittest.Pair) { p.Write("COMMS.md", "mine\n") }, " has changes of its own and was not touched; git merge --ff-only origin/main", false},
		"staged":               {func(p *gittest.Pair) { p.Write("x", "mine\n"); p.Git("add", "x") }, " has changes of its own and was not touched", false},
		"untracked beside":     {func(p *gittest.Pair) { p.Write("mine", "x") }, " has it\n", true},
		"untracked in the way": {func(p *gittest.Pair) { p.Write("greet.sh", "mine\n") }, "git-ward: warning: main is pushed, and your working tree stays behind", false},
		"ignored in the way":   {func(p *gittest.Pair) { p.Write(".git/info/exclude", "greet.sh\n"); p.Write("greet.sh", "mine\n") }, "git-ward: warning: main is pushed, and your working tree stays behind", false},
		"ahead":                {func(p *gittest.Pair) { p.Commit("mine", "x") }, " has commits of its own and was not touched; git pull --rebase", false},
		"detached":             {func(p *gittest.Pair) { p.Git("checkout", "--quiet", "--detach") }, "no working tree of this clone is on main", false},
		"another branch":       {func(p *gittest.Pair) { p.Git("checkout", "--quiet", "-b", "other") }, "no working tree of this clone is on main", false},
		"behind":               {func(p *gittest.Pair) { p.Git("reset", "--quiet", "--hard", "HEAD~2") }, " has it\n", true},
		"a linked worktree has main": {func(p *gittest.Pair) {
			p.Git("checkout", "--quiet", "-b", "other")
			p.Git("worktree", "add", "--quiet", p.Work+"-2", "main")
		}, p2 + " has it\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newCopy(t)
			p.Git("pull", "--quiet", "--rebase")
			test.before(p)
			status, head := p.Git("status", "--porcelain"), p.Git("rev-parse", "HEAD")
			out := ward(t, p, 0, "take", "D-1")
			gittest.InOrder(t, out, strings.ReplaceAll(test.says, p2, p.Work+"-2"))
			gittest.InOrder(t, p.Run(p.Bare, "git", "log", "-1", "--format=%s", "main"), "Merge D-1: greet the user")
			if got := p.Git("status", "--porcelain"); got != status {
				t.Errorf("the status was %q and is %q", status, got)
			}
			if moved := p.Git("rev-parse", "HEAD") != head; moved != test.has {
				t.Errorf("HEAD moved: %v", moved)
			}
		})
	}
	t.Run("bare", func(t *testing.T) {
		p := newCopy(t)
		out := wardIn(t, p, filepath.Dir(p.Bare), 0, nil, "take", "--json", "--bare", p.Bare, "D-1")
		var done map[string]any
		if err := json.Unmarshal([]byte(out), &done); err != nil || done["taken_by"] != tip(p, "main") || done["already"] != false || done["branch"] != "main" || len(done["undo"].([]any)) != 2 {
			t.Errorf("%v %s", err, out)
		}
		p.Fsck()
	})
}

// p2 stands for the linked worktree of TestTakeAndTrees.
const p2 = "LINKED"

// Nothing that a clone's settings, hooks and attributes name runs (GATE-7).
func TestTakeRunsNothing(t *testing.T) {
	p := newCopy(t)
	p.Git("pull", "--quiet", "--rebase")
	mark := filepath.Join(t.TempDir(), "ran")
	program := "touch " + mark + "; false"
	for key, value := range map[string]string{"merge.evil.driver": program, "diff.evil.command": program, "diff.evil.textconv": program, "diff.external": program,
		"filter.evil.smudge": program, "filter.evil.clean": program, "core.pager": program, "core.editor": program, "core.fsmonitor": program,
		"core.hooksPath": filepath.Join(p.Work, ".git/evil"), "credential.helper": program, "pull.rebase": "true", "commit.gpgSign": "true", "gpg.program": program} {
		p.Git("config", key, value)
	}
	for _, hook := range []string{"pre-push", "post-merge", "post-checkout", "reference-transaction", "pre-merge-commit", "prepare-commit-msg", "post-rewrite", "pre-commit"} {
		for _, dir := range []string{".git/evil/", ".git/hooks/"} {
			p.Write(dir+hook, "#!/bin/sh\n"+program+"\n")
			if err := os.Chmod(filepath.Join(p.Work, dir, hook), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.Write(".git/info/attributes", "* merge=evil diff=evil filter=evil -text\n")
	for _, args := range [][]string{{"review", "D-1"}, {"take", "D-1"}, {"drop", "D-2"}, {"directive", "new", "--untried", "-m", "x\n\n- [ ] y (`true`)"}, {"directive", "show", "D-1"}} {
		ward(t, p, 0, args...)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the clone's ran")
	}
}

// killer is a git that kills who calls it at its n-th call, before or after it did its
// work, and notes what was called.
const killer = `#!/bin/sh
echo "$*" >>%[1]s
n=$(wc -l <%[1]s)
if [ $n = %[2]d ] && [ %[3]s = before ]; then kill -9 $PPID; exit 1; fi
%[4]s "$@"
code=$?
if [ $n = %[2]d ]; then kill -9 $PPID; fi
exit $code
`

// killed runs git ward so that it is killed at its n-th child, 0 for never, and gives the
// children that it started until then.
func killed(t *testing.T, p *gittest.Pair, n int, when string, args ...string) (children []string) {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	real := strings.TrimSpace(p.Run(dir, "sh", "-c", "command -v git"))
	gittest.Program(t, filepath.Join(dir, "git"), fmt.Sprintf(killer, calls, n, when, real))
	path := ""
	for _, v := range p.Env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			path = rest
		}
	}
	out, err := p.Try(p.Work, []string{"PATH=" + dir + ":" + path}, "", "git-ward", args...)
	if (err == nil) != (n == 0) {
		t.Fatalf("killed at %d, %s: %v\n%s", n, when, err, out)
	}
	data, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// What the host took stays told as done, although the clone cannot fetch it back.
func TestPushedAndNotFetched(t *testing.T) {
	p := newCopy(t)
	p.Git("pull", "--quiet", "--rebase")
	dir := t.TempDir()
	real := strings.TrimSpace(p.Run(dir, "sh", "-c", "command -v git"))
	script := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in\n*' push '*) touch %[1]s/pushed ;;\n*' fetch '*) [ ! -e %[1]s/pushed ] || { echo no route; exit 128; } ;;\nesac\nexec %[2]s \"$@\"\n", dir, real)
	gittest.Program(t, filepath.Join(dir, "git"), script)
	env := []string{"PATH=" + dir + ":" + strings.TrimSpace(p.Run(dir, "printenv", "PATH"))}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"taken: D-1 greet the user, ", []string{"take", "D-1"}},
		{"D-7 x: pushed to main as ", []string{"directive", "new", "--untried", "-m", "x\n\n- [ ] y (`true`)"}},
		{"D-5.1: paused, ", []string{"uow", "pause", "D-5.1"}},
		{"dropped: D-2 say bye\n", []string{"drop", "D-2"}},
	} {
		p.Run(dir, "rm", "-f", "pushed")
		out := wardIn(t, p, p.Work, 0, env, c.args...)
		gittest.InOrder(t, out, "git-ward: warning: it is pushed, and this clone knows it only after the next git fetch: git fetch: no route\n", c.says)
		if strings.Contains(out, "error: ") {
			t.Errorf("%q:\n%s", c.args, out)
		}
	}
	if head := p.Git("rev-parse", "HEAD^2"); head != claim(t, p, "D-1.1")+"\n" {
		t.Errorf("the working tree stayed behind: %s", head)
	}
	gittest.InOrder(t, p.Run(p.Bare, "git", "show", "main:COMMS.md"), "### D-7: x\n", "\nDropped: ")
	p.Fsck()
}

// saved is a repository with its clone, to be put back after each kill.
func saved(t *testing.T, p *gittest.Pair) (restore func()) {
	t.Helper()
	dir := filepath.Dir(p.Bare)
	copies := t.TempDir()
	p.Run(dir, "cp", "-a", p.Bare, p.Work, copies)
	return func() {
		p.Run(dir, "rm", "-rf", p.Bare, p.Work)
		p.Run(dir, "cp", "-a", filepath.Join(copies, "remote.git"), filepath.Join(copies, "work"), dir)
	}
}

// steps are the children at which a command is killed: a few before its first push, which
// is the first to move anything, and all from there on.
func steps(children []string) (list []int) {
	pushed := false
	for i, c := range children {
		if pushed = pushed || strings.HasPrefix(c, "push "); pushed || i%8 == 7 {
			list = append(list, i+1)
		}
	}
	return list
}

// A take that is killed at any of its steps has taken nothing or all, and a second one
// brings it to its end.
func TestTakeKilled(t *testing.T) {
	tier.Full(t, "a take killed at each of its steps")
	takeKilled(t, steps)
}

// TestTakeKilledAtItsPush is TestTakeKilled at what moves main.
func TestTakeKilledAtItsPush(t *testing.T) {
	takeKilled(t, func(children []string) []int {
		return []int{1 + slices.IndexFunc(children, func(c string) bool { return strings.HasPrefix(c, "push ") })}
	})
}

func takeKilled(t *testing.T, steps func(children []string) []int) {
	p := newCopy(t)
	p.Git("pull", "--quiet", "--rebase")
	restore := saved(t, p)
	before := tip(p, "main")
	children := killed(t, p, 0, "", "take", "D-1")
	nothing, all := 0, 0
	for _, n := range steps(children) {
		for _, when := range []string{"before", "after"} {
			restore()
			killed(t, p, n, when, "take", "D-1")
			if now := tip(p, "main"); now == before {
				nothing++
			} else if all++; p.Run(p.Bare, "git", "rev-parse", now+"^1") != before+"\n" {
				t.Errorf("%d %s: main is at %s", n, when, now)
			}
			p.Run(p.Work, "rm", "-f", ".git/index.lock", ".git/HEAD.lock") // of a git that was killed with it
			ward(t, p, 0, "take", "D-1")
			if now := tip(p, "main"); p.Git("rev-parse", "HEAD") != now+"\n" || p.Git("status", "--porcelain") != "" || p.Git("rev-parse", now+"^1") != before+"\n" {
				t.Errorf("%d %s: HEAD is not main, or main moved twice", n, when)
			}
		}
	}
	if nothing < 1 || all < 1 {
		t.Errorf("taken %d times and not %d times, of %d children: the test proves little", all, nothing, len(children))
	}
	p.Fsck()
}
