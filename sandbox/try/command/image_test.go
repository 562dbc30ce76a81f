package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// TestNeed: the image has what the criteria run, what the person names, and what it had before.
func TestNeed(t *testing.T) {
	dir := t.TempDir()
	need := func(text, with string) string {
		t.Helper()
		w := &trial{dir: dir, options: options{text: text, with: with}}
		if err := w.need(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(w.packages, " ")
	}
	for text, want := range map[string]string{
		"x\n\n- [ ] make node fast (`go test ./...`)\n":                  "",
		"x, by node\n\n- [ ] y (`go test ./... && sh node.sh`)\n":        "",
		"x\n\n- [ ] y (`python3 -m pytest`)\n- [ ] z (`true; npm test`)": "nodejs npm python3 python3-pytest",
		"x\n\n- [ ] y (`test \"$(cc -v)\"`)\n":                           "gcc libc6-dev",
		"x\n\n- [ ] y (`CC=gcc sh build.sh`)\n":                          "gcc libc6-dev",
	} {
		if got := need(text, ""); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, packagesFile), []byte("ward:a\njq\nnodejs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := need("", "bc,jq"); got != "bc jq nodejs" {
		t.Errorf("a second --with: %q", got)
	}
}

// TestOwnImage: a try leaves the image alone that the person chose, before or after it, unless
// --with asks for another one. An image of a try that was killed is not the person's.
func TestOwnImage(t *testing.T) {
	tier.First(t, "it runs a program")
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	w := &trial{dir: dir}
	path := filepath.Join(w.bare(), config.Path)
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	set := func(image string) { t.Helper(); write(path, "[sandbox]\nimage = \""+image+"\"\n", 0o644) }
	set("mine:0")
	for _, c := range []struct{ chooses, with, builds, config, want string }{
		{"", "", "ward:0", "keep", "mine:0"},
		{"", "jq", "ward:1", "keep; exit 1", "ward:1"}, // killed after the setting
		{"", "", "ward:2", "keep", "ward:2"},
		{"", "bc", "ward:3", "exit 1", "ward:2"}, // killed before it
		{"", "", "ward:3", "keep", "ward:3"},
		{"mine:1", "", "ward:4", "keep", "mine:1"},
		{"", "dc", "ward:5", "keep", "ward:5"},
		{"mine:1", "", "ward:6", "keep", "mine:1"},
	} {
		if c.chooses != "" {
			set(c.chooses)
		}
		write(filepath.Join(dir, "git-ward"), `#!/bin/sh
keep() { printf '[sandbox]\nimage = "%s"\n' "${image#*=}" >'`+path+`'; }
image=$4
case $1 in
image) echo `+c.builds+`;;
config) `+c.config+`;;
esac
`, 0o755)
		var out, words bytes.Buffer
		w := &trial{ctx: t.Context(), env: &cli.Env{Stdout: &out, Stderr: &words}, dir: dir, options: options{with: c.with}}
		err := cmp.Or(w.need(), w.fence())
		settings, no := config.Load(w.bare())
		if no != nil {
			t.Fatal(no)
		}
		if got := settings.Sandbox.Image; got != c.want || (err == nil) != (c.config == "keep") {
			t.Errorf("%+v: %q, %v\n%s", c, got, err, words.String())
		}
	}
	if w = (&trial{dir: dir}); w.need() != nil || strings.Join(w.packages, " ") != "bc dc jq" {
		t.Errorf("it has %q", w.packages)
	}
}

// TestUnknownProgram: where a criterion runs what the image lacks, the try ends before an agent
// works, and says what to type.
func TestUnknownProgram(t *testing.T) {
	tier.First(t, "it runs a program")
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for rule, ends := range map[string]bool{"criteria/unknown-program": true, "criteria/holds-already": false} {
		// Words that another finding's text has are no finding.
		gittest.Program(t, filepath.Join(bin, "git-ward"), `#!/bin/sh
echo '{"directive":"D-1","findings":[{"path":"D-1","rule":"'`+rule+`'","severity":"warning","message":"a title of criteria/unknown-program: y"}],"not_met":[],"untried":""}'
`)
		var out, words bytes.Buffer // two: each has its writer
		env := &cli.Env{Stdout: &out, Stderr: &words}
		w := &trial{ctx: t.Context(), env: env, dir: bin, clone: filepath.Join(bin, "work"), options: options{text: "x\n\n- [ ] y (`node -v`)", script: "s.jsonl"}}
		if err := os.MkdirAll(w.work(), 0o755); err != nil {
			t.Fatal(err)
		}
		err := w.direct()
		if (err != nil) != ends || !strings.Contains(words.String(), "warning: "+rule+": a title") {
			t.Errorf("%s: %v: %s", rule, err, words.String())
		}
		if ends && !strings.Contains(strings.Join(diag.Hints(err), ""), "git ward try --script s.jsonl --again --with PACKAGE") {
			t.Errorf("no remedy: %q", diag.Hints(err))
		}
		if ends && !strings.Contains(strings.Join(diag.Hints(err), ""), "npm ci && npm test") {
			t.Errorf("no remedy for what no Debian package has: %q", diag.Hints(err))
		}
	}
}

// TestOwnTestsFail: where the project's own tests, which the try chose, fail before any work, the
// try ends before an agent works. A criterion that the person names is to fail then.
func TestOwnTestsFail(t *testing.T) {
	tier.First(t, "it runs a program and git")
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	gittest.Program(t, filepath.Join(bin, "git-ward"), `#!/bin/sh
echo '{"directive":"D-1","findings":[],"not_met":["npm test"],"untried":""}'
`)
	for guessed := range map[bool]bool{true: true, false: false} {
		var out, words bytes.Buffer
		w := &trial{ctx: t.Context(), env: &cli.Env{Stdout: &out, Stderr: &words}, dir: bin, clone: filepath.Join(bin, "work"), branch: "main", guessed: guessed,
			options: options{text: "x", script: "s.jsonl", checks: checks{"npm test"}}}
		if err := os.MkdirAll(w.work(), 0o755); err != nil {
			t.Fatal(err)
		}
		if guessed { // the directive that was pushed
			pushed(t, bin, w.bare(), "See y.")
		}
		err := w.direct()
		if (err != nil) != guessed || strings.Contains(out.String(), "not met yet, as it should be: 'npm test'\n") == guessed {
			t.Errorf("guessed %v: %v: %s%s", guessed, err, out.String(), words.String())
		}
		if said := strings.Join(diag.Hints(err), ""); guessed && (!strings.Contains(said, "git ward verify --bare "+w.bare()+" main D-1 shows why") || !strings.Contains(said, "git ward directive edit D-1 ") || !strings.Contains(said, "git ward try --script s.jsonl --again")) {
			t.Errorf("no remedy: %q", said)
		}
	}
}

// pushed makes a bare repository with a directive of one paragraph.
func pushed(t *testing.T, dir, bare, paragraph string) {
	t.Helper()
	gittest.Git(t, dir, "init", "--quiet", "--initial-branch=main", "pushed")
	text := strings.Replace(comms.Empty, "## Directives\n", "## Directives\n\n### D-1: x\n\n"+paragraph+"\n", 1)
	if err := os.WriteFile(filepath.Join(dir, "pushed", "COMMS.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "-C", "pushed", "add", "COMMS.md")
	gittest.Git(t, dir, "-C", "pushed", "commit", "--quiet", "--message=D-1")
	gittest.Git(t, dir, "clone", "--quiet", "--bare", "pushed", bare)
}

// TestAgainOwnTestsFail: --again --with PACKAGE begins no agent either where the package was not
// what the project's own tests lack. A criterion that the person named is to fail before the work.
func TestAgainOwnTestsFail(t *testing.T) {
	tier.First(t, "it runs a program and git")
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	pushed(t, bin, filepath.Join(bin, "project.git"), "- [ ] it works (`npm test`)\n- [ ] y (`grep y z`)")
	const fails, holds = `{"line":"npm test","end":"exit","exit":1}`, `{"line":"npm test","end":"exit","exit":0}`
	const named = `,{"line":"grep y z","end":"exit","exit":1}`
	for _, c := range []struct{ guessed, with, facts, want string }{
		{"npm test", "bc", `{"replays":[[` + fails + named + `]]}`, "own tests ('npm test') fail in the fence"},
		{"npm test", "bc", `{"replays":[[{"line":"npm test","end":"killed"}` + named + `]]}`, "own tests ('npm test') fail in the fence"},
		{"npm test", "bc", `{"replays":[[{"line":"npm test","end":"exit","exit":127}` + named + `]]}`, "lacks a program"},
		{"npm test", "bc", `{"replays":[[` + fails + named + `]],"missing":{"line":"npm test","tool":"tap"}}`, "lacks a program"},
		{"npm test", "bc", `{"unfit":"no tree"}`, "cannot be tried on main: no tree"},
		{"npm test", "bc", `{"replays":[[` + holds + named + `]]}`, ""},
		{"npm test", "", `{"replays":[[` + fails + named + `]]}`, ""}, // --again alone: the agent works all the same
		{"", "bc", `{"replays":[[` + fails + named + `]]}`, ""},       // a person named it
	} {
		gittest.Program(t, filepath.Join(bin, "git-ward"), "#!/bin/sh\necho \"$*\" >asked\necho '"+c.facts+"'\nexit 1\n")
		var out, words bytes.Buffer
		w := &trial{ctx: t.Context(), env: &cli.Env{Stdout: &out, Stderr: &words}, dir: bin, branch: "main", options: options{again: true, with: c.with}}
		if err := os.WriteFile(filepath.Join(bin, guessedFile), []byte(c.guessed), 0o644); err != nil {
			t.Fatal(err)
		}
		err := w.direct()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v: %s", c, err, words.String())
		}
		if asked, _ := os.ReadFile(filepath.Join(bin, "asked")); err != nil && !strings.HasPrefix(string(asked), "verify --bare "+w.bare()+" --json --replays 1 refs/heads/main") {
			t.Errorf("it asked %q", asked)
		}
	}
}

// TestStopped: git that ^C stopped has answered nothing.
func TestStopped(t *testing.T) {
	tier.First(t, "it runs git")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := project(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w := &trial{ctx: ctx, clone: t.TempDir()}
	if err := w.look(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := w.whole(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestKilledStep: a command that a signal killed has said nothing, so the try does; after ^C the
// try says how it goes on, whatever the command has said.
func TestKilledStep(t *testing.T) {
	tier.First(t, "it runs a shell")
	ctx, cancel := context.WithCancel(t.Context())
	w := &trial{ctx: ctx}
	run := func(script string) error { return w.ended(exec.Command("sh", "-c", script).Run()) }
	if err := run("exit 3"); !errors.Is(err, cli.ExitCode(3)) {
		t.Errorf("it has said why: %v", err)
	}
	if err := run("kill -KILL $$"); err == nil || errors.As(err, new(cli.ExitCode)) {
		t.Errorf("killed: %v", err)
	}
	cancel()
	if err := run("exit 130"); err == nil || errors.As(err, new(cli.ExitCode)) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestMissing: of a machine without podman, a person reads what is missing, not what is fine, and
// nothing is missing because doctor could not answer.
func TestMissing(t *testing.T) {
	tier.First(t, "it runs a program")
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	const findings = `{"thing":"git","state":"fine","detail":"/usr/bin/git"}
{"thing":"podman","state":"missing","detail":"missing  it makes\u001b the containers","mend":"apt-get install podman"}
{"thing":"go","state":"warning","detail":"none"}
`
	const want = "missing  podman                 missing  it makes\\x1b the containers\n                                mend: apt-get install podman\n"
	for _, c := range []struct{ ends, words, err string }{
		{"cat <<'E'\n" + findings + "E\nexit 1", want, "something is missing here"},
		{"echo no podman >&2; exit 2", "no podman\n", "2"},
		{"echo '{'; exit 1", "", "doctor --json"},
	} {
		gittest.Program(t, filepath.Join(bin, "git-ward"), "#!/bin/sh\n[ \"$4\" = --json ] || exit 3\n"+c.ends+"\n")
		var out, words bytes.Buffer
		w := &trial{ctx: t.Context(), env: &cli.Env{Stdout: &out, Stderr: &words}, dir: bin}
		if err := w.fence(); err == nil || !strings.Contains(err.Error(), c.err) || words.String() != c.words {
			t.Errorf("%q: %v: %q", c.ends, err, words.String())
		}
	}
}

// TestSteps: a launch's words without each step of the state machines.
func TestSteps(t *testing.T) {
	var out bytes.Buffer
	s := &steps{to: &out}
	for _, part := range []string{"fenced: x\n2026-11-30T10:37:26Z IN", "F loop from=INIT\n2026-11-30T10:37:27Z WRN a step failed\nverd", "ict on D-1.1\npanic: the l"} {
		if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if want := "fenced: x\n2026-11-30T10:37:27Z WRN a step failed\nverdict on D-1.1\npanic: the l"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestChecksAreWords: commands in a sentence are a word each, so that none is read as a part of another.
func TestChecksAreWords(t *testing.T) {
	if said := (&checks{"a; b", "go test ./..."}).String(); said != "'a; b', 'go test ./...'" {
		t.Error(said)
	}
}
