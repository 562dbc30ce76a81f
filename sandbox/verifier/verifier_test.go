package verifier

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/git"
	"git-ward/internal/tier"
)

// claimed is main with a test and a script, in a repository, and a claim of an
// agent's commit that is still to be made.
func claimed(t *testing.T) (*repository, Claim) {
	t.Helper()
	r := newRepository(t)
	main := r.commit(files{"check.sh": "test \"$(cat answer)\" = 42\n", "pkg/a_test.go": "a test\n", "frozen/scale": "1\n", "answer": "41\n", "README": "main\n"})
	return r, Claim{Main: main, Replays: 1, Bounds: usualBounds(), Work: []string{"**"}, Frozen: []string{"frozen/**"},
		Commands: []Command{{Name: "criterion 1", Line: "sh check.sh"}}}
}

// TestOverlay: the run that decides has the work and no more of the claim, the other one
// all of it; what is frozen is main's in both, and the facts name each path.
func TestOverlay(t *testing.T) {
	r, c := claimed(t)
	r.write("check.sh", "true\n")
	r.write("frozen/new", "added\n")
	r.write("pkg/b_test.go", "a new test\n")
	r.write("answer", "42\n")
	if err := os.Remove(filepath.Join(r.work, "pkg/a_test.go")); err != nil {
		t.Fatal(err)
	}
	// A directory in the place of a frozen file.
	if err := os.Remove(filepath.Join(r.work, "frozen/scale")); err != nil {
		t.Fatal(err)
	}
	r.write("frozen/scale/x", "")
	c.Commit = r.commit(nil)
	c.Commands = append(c.Commands, Command{Name: "list", Line: "git ls-files"})
	before := r.git("count-objects", "-v")
	f, err := r.verify(c)
	if err != nil {
		t.Fatal(err)
	}
	want := []Deviation{{"frozen/new", "added"}, {"frozen/scale", "deleted"}, {"frozen/scale/x", "added"}}
	if left := list(f); !reflect.DeepEqual(f.Deviations, want) || left != "check.sh (changed) pkg/a_test.go (deleted) pkg/b_test.go (added)" {
		t.Errorf("deviations %v, left out %s", f.Deviations, left)
	}
	decides, all := strings.Fields(f.Replays[0][1].Tail), strings.Fields(f.With[1].Tail)
	for path, there := range map[string][2]bool{"check.sh": {true, true}, "frozen/new": {}, "frozen/scale": {true, true}, "pkg/a_test.go": {true, false}, "pkg/b_test.go": {false, true}} {
		if got := [2]bool{slices.Contains(decides, path), slices.Contains(all, path)}; got != there {
			t.Errorf("%s: %v, want %v", path, got, there)
		}
	}
	if after := r.git("count-objects", "-v"); after != before { // no ledger counts what stays there
		t.Errorf("the repository has objects of the verification's: %s, was %s", after, before)
	}
	if run := f.Replays[0][0]; !run.OK() { // the answer is the agent's own work
		t.Errorf("%+v", run)
	}
	if f.Fence != "none" {
		t.Errorf("fence %q", f.Fence)
	}
}

// TestObserved: of what the claim changes, the facts say what a command opened: of the work
// in the run that decides, of what was left out in the other. What is held out says nothing,
// and where git's objects are read, nobody knows.
func TestObserved(t *testing.T) {
	r, c := claimed(t)
	c.Commit = r.commit(files{"answer": "42\n", "README": "claim\n", "secret": "of a held-out command\n", "pkg/a_test.go": "another\n"})
	c.Commands = append(c.Commands, Command{Name: "tests", Line: "cat pkg/*"}, Command{Name: "held out", Line: "grep -rq held-out --exclude-dir=.git .", Held: true})
	for _, trial := range []struct {
		line, opened, never, not string
	}{
		{":", "answer pkg/a_test.go", "README secret", ""},
		{"git cat-file -p HEAD:README", "README answer secret pkg/a_test.go", "", "git's objects were read, which have every file"},
	} {
		c.Commands[0].Line = "sh check.sh && " + trial.line
		f, err := r.verify(c)
		if err != nil {
			t.Fatal(err)
		}
		if opened, never := strings.Join(f.Opened, " "), strings.Join(f.NeverOpened, " "); !f.OK() || opened != trial.opened || never != trial.never || f.NotObserved != trial.not {
			t.Errorf("%s: opened %s; never %s; %s", trial.line, opened, never, f.NotObserved)
		}
	}
}

// TestMeddling: the script that decides is main's.
func TestMeddling(t *testing.T) {
	r, c := claimed(t)
	r.write("check.sh", "true\n")
	c.Commit = r.commit(nil)
	f, err := r.verify(c)
	if err != nil {
		t.Fatal(err)
	}
	if run := f.Replays[0][0]; run.OK() || run.Exit != 1 {
		t.Errorf("%+v", run)
	}
}

// TestLinks: a link of main's to what decides decides, and so does what it leads to.
func TestLinks(t *testing.T) {
	r, c := claimed(t)
	for name, target := range map[string]string{"link.sh": "real/check.sh", "tools": "real", "loop": "loop", "out": "../outside"} {
		if err := os.Symlink(target, filepath.Join(r.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.write("real/check.sh", "exit 1\n")
	r.write("real/again.sh", "exit 1\n")
	c.Main = r.commit(nil)
	c.Commands = []Command{{Name: "a", Line: "sh link.sh"}, {Name: "b", Line: "cd tools && sh again.sh"}, {Name: "c", Line: "sh loop || sh out/x"}}
	r.write("real/check.sh", "exit 0\n")
	r.write("real/again.sh", "exit 0\n")
	r.write("real/other.sh", "exit 0\n")
	r.git("rm", "-q", "--cached", "tools")
	os.Remove(filepath.Join(r.work, "tools"))
	r.write("tools/again.sh", "exit 0\n")
	c.Commit = r.commit(nil)
	f, err := r.verify(c)
	if err != nil {
		t.Fatal(err)
	}
	if left := list(f); left != "real/again.sh (changed) real/check.sh (changed) tools (deleted) tools/again.sh (added)" {
		t.Errorf("left out %s", left)
	}
	for _, run := range f.Replays[0] {
		if run.OK() {
			t.Errorf("%+v", run)
		}
	}
}

// TestAttributes: a commit cannot have git write main's files otherwise than main
// has them.
func TestAttributes(t *testing.T) {
	tier.First(t, "it runs many commands, or waits for their limits")
	r, c := claimed(t)
	r.write("frozen/.gitattributes", "* eol=lf\n")
	r.write("pkg/want", "1\n")
	c.Main = r.commit(files{"pkg/.gitattributes": "* -text\n"})
	c.Commands = []Command{{Name: "a", Line: "test $(wc -c < frozen/scale) = 2 && test $(wc -c < pkg/want) = 2 && test $(wc -c < new/file) = 2"}}
	c.Work = append(c.Work, "new/file") // which the command names
	r.write("frozen/.gitattributes", "* text eol=crlf\n")
	r.write("pkg/.gitattributes", "* text eol=crlf\n")
	r.write("new/.gitattributes", "* text eol=crlf\n")
	r.write("new/file", "1\n")
	c.Commit = r.commit(nil) // an agent's own push of it would be refused before
	f, err := r.verify(c)
	if err != nil {
		t.Fatal(err)
	}
	want := []Deviation{{"frozen/.gitattributes", "changed"}, {"new/.gitattributes", "added"}, {"pkg/.gitattributes", "changed"}}
	if !reflect.DeepEqual(f.Deviations, want) || !f.OK() {
		t.Errorf("deviations %v, %+v", f.Deviations, f.Replays)
	}
}

// TestOutcomes: how commands end, as plain processes.
func TestOutcomes(t *testing.T) {
	tier.First(t, "it runs many commands, or waits for their limits")
	t.Setenv("TMPDIR", t.TempDir())
	r, c := claimed(t)
	c.Commit = r.commit(nil)
	v := &Processes{Limits: Limits{Output: 1 << 20}, Places: newPlaces(t)}
	outcomes(t, git.Open(r.bare), v, &v.Limits, c)
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "ward-verify-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestLeavesNoProcess: a command's process that left its group ends with the command all the same,
// and carries the launch's mark.
func TestLeavesNoProcess(t *testing.T) {
	r, c := claimed(t)
	c.Commit = r.commit(nil)
	at := filepath.Join(t.TempDir(), "pid")
	v := &Processes{Limits: Limits{Time: time.Hour, Output: 1 << 20}, Mark: "WARD_LAUNCH=of-a-test", Places: newPlaces(t)}
	line := "setsid sh -c 'exec 9>" + at + "; flock 9; echo $WARD_LAUNCH >" + at + ".new; mv " + at + ".new " + at + ".mark; exec sleep 3600' >/dev/null 2>&1 & until test -e " + at + ".mark; do sleep 0.01; done"
	o, err := v.Run(t.Context(), Job{Repo: r.bare, Commit: c.Commit, Line: line})
	if err != nil || !o.OK() {
		t.Fatalf("%+v, %v", o, err)
	}
	if said, err := os.ReadFile(at + ".mark"); string(said) != "of-a-test\n" {
		t.Errorf("the launch's mark is %q, %v", said, err)
	}
	f, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	await.True(t, "the process is gone", func() bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil })
}

// outcomes is the same for every runner.
func outcomes(t *testing.T, repo *git.Repo, r Runner, limits *Limits, c Claim) {
	t.Helper()
	for _, test := range []struct {
		line string
		end  string
		exit int
		last string
		tail string
	}{
		{"echo 0.5; echo said >&2; echo; exit 3", Exited, 3, "0.5", "said"},
		{"git status --porcelain; git rev-list --all HEAD | wc -l; git cat-file -e " + c.Commit + " || echo none", Exited, 0, "none", "1\n"},
		{"kill -9 $$", Exited, 137, "", ""},
		{"sleep 60 & exit 0", Exited, 0, "", ""},
		{"echo begun; sleep 60", TimedOut, 137, "begun", "begun"},
		{"yes", Flooded, 137, "y", "y\ny\n"},
		{"printf '\\377ok'; mkdir x; chmod 555 x", Exited, 0, "\ufffdok", "\ufffdok"},
		{"ls /nowhere && echo found", Exited, 2, "", "nowhere"},
	} {
		limits.Time = time.Hour
		if test.end == TimedOut {
			limits.Time = time.Second
		}
		c.Commands, c.Replays = []Command{{Name: "criterion 1", Line: test.line}}, 1
		var run Run
		for {
			f, err := Verify(t.Context(), repo, r, c)
			if err != nil {
				t.Fatalf("%s: %v", test.line, err)
			}
			run = f.Replays[0][0]
			if run.End != TimedOut || run.LastLine != "" || limits.Time > time.Minute {
				break
			}
			limits.Time *= 2 // it had no time to say anything
		}
		if run.End != test.end || run.Exit != test.exit || run.LastLine != test.last || !strings.Contains(run.Tail, test.tail) {
			t.Errorf("%s: end %q exit %d last %q tail %q", test.line, run.End, run.Exit, run.LastLine, run.Tail)
		}
	}
}

// TestReplays: each replay and each command starts from a clean checkout.
func TestReplays(t *testing.T) {
	tier.First(t, "it runs many commands, or waits for their limits")
	r, c := claimed(t)
	c.Commit = r.commit(nil)
	c.Replays = 2
	c.Commands = []Command{{Name: "criterion 1", Line: "test ! -e left && touch left"}, {Name: "residual", Line: "test ! -e left && echo 1e-3"}}
	f, err := r.verify(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, runs := range f.Replays {
		if len(runs) != 2 || !runs[0].OK() || !runs[1].OK() || runs[1].LastLine != "1e-3" {
			t.Errorf("%+v", runs)
		}
	}
	if len(f.Replays) != 2 {
		t.Errorf("%d replays", len(f.Replays))
	}
}

// TestBadClaims: nothing to run is not a pass.
func TestBadClaims(t *testing.T) {
	tier.First(t, "it runs many commands, or waits for their limits")
	r, c := claimed(t)
	c.Commit = r.commit(nil)
	for name, spoil := range map[string]func(*Claim){
		"no commands": func(c *Claim) { c.Commands = nil },
		"no replays":  func(c *Claim) { c.Replays = 0 },
		"no commit":   func(c *Claim) { c.Commit = strings.Repeat("1", 40) },
		"bad glob":    func(c *Claim) { c.Frozen = []string{"[a"} },
	} {
		bad := c
		spoil(&bad)
		if f, err := r.verify(bad); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestNoHalfOfAToken: where what is kept of an output begins, it begins with a whole word: secrets
// are looked for in what is kept.
func TestNoHalfOfAToken(t *testing.T) {
	const token = "ghp_0123456789abcdefghij0123456789abcdef"
	for _, more := range []int{tailSize - 10, tailSize, 2*tailSize - 10, 3*tailSize - 10} {
		for _, step := range []int{1 << 20, 100} {
			out := newOutput(1<<20, false, func() {})
			text := "with " + token + strings.Repeat(" b", more/2)
			for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
				stream{out, true}.Write([]byte(rest[:min(step, len(rest))]))
			}
			live := new(Live)
			live.show(out)
			var o Outcome
			out.fill(&o)
			for where, got := range map[string]string{"tail": o.Tail, "line": live.LastLine()} {
				if strings.Contains(got, "cdef") && !strings.Contains(got, token) || len(got) < tailSize-2 && len(got) < len(text) && !strings.HasPrefix(got, " b") {
					t.Errorf("%s, %d bytes after it, written by %d: %.60q", where, more, step, got)
				}
			}
		}
	}
}

// TestLastLine: what is only the end of a line is not a number.
func TestLastLine(t *testing.T) {
	for said, want := range map[string]string{
		"9" + strings.Repeat(" ", 9000) + "0":       "",
		"9" + strings.Repeat(" ", 9000) + "\n0\n":   "0",
		"0\n" + strings.Repeat("\n", 9000):          "",
		"1\n2\n\n \t\n":                             "2",
		strings.Repeat("line\n", 9000) + " 0.5\r\n": "0.5",
		strings.Repeat("9", 5000):                   "",
		"0\x00":                                     "0\x00",
		"":                                          "",
		strings.Repeat("9", 9000) + "\n" + "1e400000000\n\n": "1e400000000",
	} {
		var o Outcome
		out := newOutput(1<<20, false, func() {})
		stream{out, true}.Write([]byte(said))
		if out.fill(&o); o.LastLine != want {
			t.Errorf("%.20q... %d bytes: %q, want %q", said, len(said), o.LastLine, want)
		}
	}
}
