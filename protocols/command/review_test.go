package command_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// A review has its parts in their order, names every kind of change, and prints nothing
// of the agent's that a terminal would obey (REC-3, GATE-5, GATE-7).
func TestReview(t *testing.T) {
	p := newCopy(t)
	out := ward(t, p, 0, "review", "D-1")
	gittest.InOrder(t, out, "D-1 greet the user: ready to take; proved: every criterion is met\n",
		"\nlook first\n", "judged without a fence\n", "instructs coding agents: CLAUDE.md\n", "new at the root: bin\n", "a test, or what is frozen: tests/x\n",
		"criteria, as the host ran them (2 runs", "git notes --ref=certificates show ", "  met      exit 0   it greets", "criteria[0]\n",
		"D-1.1 claims ",
		" bin       |  bin 0 -> 3 bytes (new)\n", " link      |    1 + (new, link, to greet.sh)\n", " run       |    1 + (new, executable)\n",
		"diff --git a/CLAUDE.md b/CLAUDE.md\n", "Binary files /dev/null and b/bin differ\n", "+echo \"Hello, $1.\"\n", "new file mode 120000\n", "new file mode 100755\n",
		"the agent's own word, proved by nothing (the end of iteration 1 of D-1.1):\n    I did D-1.\n", `    The second line, too.`,
		"cost: 1 of 2 iterations, 1 claim, tokens not counted\n",
		"\nnext: git ward take D-1.1\n  or: git ward drop D-1\n")
	if strings.ContainsRune(out, '\x1b') || strings.Contains(out, "evidence/D-1/loop/iter") && strings.Contains(out, "diff --git a/evidence") {
		t.Errorf("%q", out)
	}
	out = ward(t, p, 0, "review", "D-4")
	gittest.InOrder(t, out, "D-4 do what cannot be: ended without proof; stopped: it got worse and worse; not proved: not met: it holds", "  not met  exit 1   it holds", `| not \x1b[2Jyet`, "\nnext: git ward directive edit D-4\n")

	gittest.InOrder(t, ward(t, p, 0, "review", "D-5"), "D-5 go on: in progress: D-5.1, iteration 1\n", "criteria, which nobody ran yet", "agent/D-5 is at ", "+x\n", "\nnext: git ward uow show D-5.1\n")

	out = ward(t, p, 1, "review", "D-6")
	gittest.InOrder(t, out, "git-ward: error: there is no work on D-6 yet", "git-ward: hint: git ward directive show D-6\n")
	for name, want := range map[string]string{"D-9": "there is no directive D-9\n", "D-1.7": "there is no unit D-1.7\n"} {
		if out := ward(t, p, 1, "review", name); !strings.HasPrefix(out, "git-ward: error: "+want) || strings.Count(out, "\n") != 2 {
			t.Errorf("%s: %s", name, out)
		}
	}
	for _, args := range [][]string{{}, {"D-1", "D-2"}, {"D-01"}, {"\x1b[2J"}, {"main"}} {
		gittest.InOrder(t, ward(t, p, 2, append([]string{"review"}, args...)...), "git-ward: error: ", "usage: git ward review")
	}
}

// A review is the same wherever it is asked for.
func TestReviewAnywhere(t *testing.T) {
	p := newCopy(t)
	want := ward(t, p, 0, "review", "D-1")
	dir := filepath.Dir(p.Bare)
	plain, linked := filepath.Join(dir, "plain"), filepath.Join(dir, "linked")
	p.Run(dir, "git", "clone", "--quiet", p.Bare, plain)
	p.Git("worktree", "add", "--quiet", "--detach", linked)
	for name, where := range map[string][]string{
		"a plain clone": {plain}, "a linked worktree, detached": {linked}, "below the top": {filepath.Join(p.Work, "protocols")},
		"the bare repository": {p.Bare}, "by its name": {dir, "--bare", p.Bare}, "by its name, in a clone": {p.Work, "--bare", "../remote.git"},
	} {
		if out := wardIn(t, p, where[0], 0, nil, append([]string{"review", "D-1"}, where[1:]...)...); out != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, out, want)
		}
	}
	p.Git("checkout", "--quiet", "--detach", "HEAD~1")
	if out := ward(t, p, 0, "review", "D-1.1"); out != want {
		t.Errorf("detached and behind:\n%s", out)
	}
	gittest.InOrder(t, wardIn(t, p, dir, 2, nil, "review", "D-1"), "is not in a git repository", "--bare DIR")
	shallow := filepath.Join(dir, "shallow")
	p.Run(dir, "git", "clone", "--quiet", "--depth=1", "file://"+p.Bare, shallow)
	gittest.InOrder(t, wardIn(t, p, shallow, 2, nil, "review", "D-1"), "git-ward: error: this is a shallow clone", "git fetch --unshallow origin\n")
	p.Run(shallow, "git", "fetch", "--quiet", "--unshallow", "origin")
	if out := wardIn(t, p, shallow, 0, nil, "review", "D-1"); out != want {
		t.Errorf("no longer shallow:\n%s", out)
	}
}

// Reviews of several directives are those of each, and a directive more costs few children: of all
// that compares, one for the paths and one for the difference go on from each to the next.
func TestReviewSeveral(t *testing.T) {
	p := newCopy(t)
	args := []string{"review", "--json", "--fetched", "--bare", p.Bare}
	names, want := []string{"D-1", "D-4", "D-5"}, ""
	for _, name := range names {
		want += ward(t, p, 0, append(args, name)...)
	}
	if got := ward(t, p, 0, append(args, names...)...); got != want {
		t.Errorf("together:\n%s\nwant\n%s", got, want)
	}
	one := len(killed(t, p, 0, "", append(args, names[0])...))
	all := killed(t, p, 0, "", append(args, names...)...)
	if more := len(all) - one; more > 3*(len(names)-1) {
		t.Errorf("%d children for one directive, %d for %d:\n%s", one, len(all), len(names), strings.Join(all, "\n"))
	}
}

// The JSON of a review has these members, and no others: programs read it.
func TestReviewJSON(t *testing.T) {
	p := newCopy(t)
	var r map[string]any
	if err := json.Unmarshal([]byte(ward(t, p, 0, "review", "--json", "D-1")), &r); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("base branch certificate changes claimed commands commit cost criteria current directive merge next or outcome patch patch_omitted project" +
		" record refused report said schema_version state taken_by text title touched unit unit_state verdict waits_for")
	if got := slices.Sorted(maps.Keys(r)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	cost, merge := r["cost"].(map[string]any), r["merge"].(map[string]any)
	if cost["tokens"] != nil || cost["money"] != nil || cost["iterations"] != 1.0 || merge["judged"] != true || r["state"] != "ready" || r["schema_version"] != "1.1" {
		t.Errorf("%v %v", cost, merge)
	}
	if patch := r["patch"].(string); !strings.Contains(patch, "+echo \"Hello, $1.\"\n") || len(r["changes"].([]any)) != 6 {
		t.Errorf("%s", patch)
	}
}

// Work in progress, without a verdict, is shown as what it is.
func TestReviewInProgress(t *testing.T) {
	tier.First(t, "the built programs")
	p := gittest.Recorded(t)
	p.Run(filepath.Dir(p.Bare), "git-ward", "clone", p.Bare, p.Work)
	out := ward(t, p, 0, "review", "D-2")
	gittest.InOrder(t, out, "D-2 ", ": in progress: D-2.1, iteration 2; no verdict yet\n", "criteria, which nobody ran yet", "  not run", "D-2.1 claims ",
		"diff --git a/", "\nnext: git ward uow show D-2.1\n")
	if strings.Contains(out, "diff --git a/evidence") || strings.Contains(out, "diff --git a/LEARNINGS.md") {
		t.Errorf("papers are shown as work:\n%s", out)
	}
	gittest.InOrder(t, ward(t, p, 0, "review", "D-1"), ": taken by ", "diff --git a/")
	gittest.InOrder(t, ward(t, p, 1, "take", "D-2"), "the claim of D-2.1 on ", " has no verdict yet\n")
}
