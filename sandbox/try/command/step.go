package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/process"
	"git-ward/protocols/comms"
	"git-ward/sandbox/doctor/finding"
)

func inside(dir, path string) bool {
	below, err := filepath.Rel(dir, path)
	return err == nil && below != ".." && !strings.HasPrefix(below, "../")
}

func (t *trial) say(format string, args ...any) {
	fmt.Fprintf(t.env.Stdout, "try: "+format+"\n", args...)
}

// ward runs a git ward command, as a person would type it.
func (t *trial) ward(dir string, args ...string) error {
	return t.typed(dir, cli.Raw(t.env.Stdout), cli.Raw(t.env.Stderr), args...)
}

// typed shows a git ward command, and runs it.
func (t *trial) typed(dir string, out, words io.Writer, args ...string) error {
	self, err := cli.Program("git-ward")
	if err != nil {
		return err
	}
	shown := []string{}
	for _, a := range args {
		shown = append(shown, diag.Word(a))
	}
	fmt.Fprintf(t.env.Stdout, "\n$ git ward %s\n", strings.Join(shown, " "))
	return t.run(dir, out, words, self, args...)
}

// run runs a program in a directory, at the person's terminal. It prints its own errors.
func (t *trial) run(dir string, out, words io.Writer, program string, args ...string) error {
	cmd := t.command(dir, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.env.Stdin, out, words
	return t.ended(cmd.Run())
}

// missing is what the machine lacks for the fence: the findings of doctor that say so.
func (t *trial) missing() (found []finding.Finding, err error) {
	self, err := cli.Program("git-ward")
	if err != nil {
		return nil, err
	}
	cmd := t.command(t.dir, self, "doctor", "--bare", t.bare(), "--json")
	cmd.Stderr = cli.Raw(t.env.Stderr)
	defer t.env.Slow("looking for what the fence needs")()
	out, ended := cmd.Output()
	if ended != nil && (t.ctx.Err() != nil || !git.SaidNo(ended)) {
		return nil, t.ended(ended)
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	for lines.More() {
		var f finding.Finding
		if err := lines.Decode(&f); err != nil {
			return nil, fmt.Errorf("git ward doctor --json: %w", err)
		}
		if f.State == finding.Missing {
			found = append(found, f)
		}
	}
	if ended != nil && len(found) == 0 {
		return nil, t.ended(ended)
	}
	return found, nil
}

func (t *trial) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.ctx, program, args...)
	process.EndGently(cmd, 30*time.Second) // a launch removes its container first
	cmd.Dir = dir
	// No pager: what the try says next would wait until a person has left it.
	cmd.Env = append(append(git.Elsewhere(os.Environ()), "GIT_PAGER=cat"), t.worker.key...)
	return cmd
}

// ended passes on the exit code of a program that has printed why. One that a signal killed has
// not, and one that ^C ended does not know how a try goes on.
func (t *trial) ended(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() && t.ctx.Err() == nil {
		return cli.ExitCode(exit.ExitCode())
	}
	return err
}

// git runs git for the person and shows its output.
func (t *trial) git(dir string, args ...string) error {
	defer t.env.Slow("git " + args[0])()
	child := git.Command(t.ctx, dir, append(git.Elsewhere(os.Environ()), "GIT_ALLOW_PROTOCOL=file"), args...)
	child.Stdout, child.Stderr = t.env.Stderr, t.env.Stderr
	return t.ended(child.Run())
}

// direct pushes the person's directive. It ends the try if the image lacks a program that a
// criterion runs, or if the project's own tests, which the try chose, fail before any work: the
// agent would be paid for finding that out.
func (t *trial) direct() error {
	if t.again {
		return t.anew()
	}
	args := []string{"directive", "new"}
	if t.text != "" {
		args = append(args, "-m", t.wanted())
	}
	if t.unfenced { // nowhere to try the criteria
		return t.ward(t.work(), append(args, "--untried")...)
	}
	var pushed struct {
		Directive string            `json:"directive"`
		Findings  []diag.Diagnostic `json:"findings"`
		NotMet    checks            `json:"not_met"`
		Untried   string            `json:"untried"`
	}
	var out bytes.Buffer
	ended := t.typed(t.work(), &out, cli.Raw(t.env.Stderr), append(args, "--json")...)
	if ended != nil && out.Len() == 0 {
		return ended
	}
	if err := json.Unmarshal(out.Bytes(), &pushed); err != nil {
		return fmt.Errorf("git ward directive new --json: %w", err)
	}
	diag.WriteText(t.env.Stderr, pushed.Findings)
	if ended != nil {
		return ended
	}
	t.say("%s is pushed", diag.Word(pushed.Directive))
	if pushed.Untried != "" {
		fmt.Fprintln(t.env.Stderr, diag.OneLine(pushed.Untried))
	}
	if len(pushed.NotMet) > 0 && !t.guessed { // of its own tests the end says it
		t.say("not met yet, as it should be: %s", pushed.NotMet.String())
	}
	if t.guessed {
		if err := atomicfile.Write(filepath.Join(t.dir, guessedFile), []byte(strings.Join(t.checks, "\n")), 0o644); err != nil {
			return err
		}
	}
	lacks := slices.ContainsFunc(pushed.Findings, func(f diag.Diagnostic) bool { return f.Rule == unknownProgram })
	return t.fit(lacks, t.guessed && len(pushed.NotMet) > 0)
}

// guessedFile has the criteria that are the project's own tests, and that no person named, one a line.
const guessedFile = "criteria.txt"

// anew tries the newest directive's criteria again, in the image that --with has made. --again alone
// has the agent work all the same.
func (t *trial) anew() error {
	if t.with == "" {
		return nil
	}
	d, err := t.newest()
	if err != nil {
		return err
	}
	guessed, err := os.ReadFile(filepath.Join(t.dir, guessedFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	t.checks = strings.Split(string(guessed), "\n")
	args := []string{"verify", "--bare", t.bare(), "--json", "--replays", "1", "refs/heads/" + t.branch}
	none := len(args)
	for _, c := range d.Criteria {
		if c.Command != "" {
			args = append(args, "--run", c.Command)
		}
	}
	if len(args) == none {
		return nil
	}
	self, err := cli.Program("git-ward")
	if err != nil {
		return err
	}
	cmd := t.command(t.dir, self, args...)
	cmd.Stderr = cli.Raw(t.env.Stderr)
	defer t.env.Slow("trying the criteria of " + d.Name() + " on " + t.branch)()
	out, ended := cmd.Output()
	if ended != nil && (t.ctx.Err() != nil || !git.SaidNo(ended)) {
		return t.ended(ended)
	}
	var facts struct {
		Unfit   string
		Missing *struct{ Line, Tool string }
		Replays [][]struct {
			Line, End string
			Exit      int
		}
	}
	if err := json.Unmarshal(out, &facts); err != nil {
		return fmt.Errorf("git ward verify --json: %w", err)
	}
	if facts.Unfit != "" {
		return fmt.Errorf("the criteria of %s cannot be tried on %s: %s", d.Name(), diag.Word(t.branch), diag.OneLine(facts.Unfit))
	}
	lacks, fail := facts.Missing != nil, false
	if lacks {
		t.say("%s runs %s, which is not in the image", diag.Word(facts.Missing.Line), diag.Word(facts.Missing.Tool))
	}
	for _, r := range slices.Concat(facts.Replays...) {
		if r.Exit == notFound && !lacks {
			t.say("%s ends with %d: a program that it runs is not in the image", diag.Word(r.Line), notFound)
			lacks = true
		}
		fail = fail || slices.Contains(t.checks, r.Line) && (r.End != "exit" || r.Exit != 0)
	}
	return t.fit(lacks, fail)
}

// open says so where no directive waits for the agent or the host: what the next launch does would
// look as if the agent had worked again.
func (t *trial) open() error {
	self, err := cli.Program("git-ward")
	if err != nil {
		return err
	}
	cmd := t.command(t.dir, self, "directive", "show", "--bare", t.bare(), "--json")
	cmd.Stderr = cli.Raw(t.env.Stderr)
	out, err := cmd.Output()
	if err != nil {
		return t.ended(err)
	}
	for lines := json.NewDecoder(bytes.NewReader(out)); lines.More(); {
		var d struct {
			WaitsFor string `json:"waits_for"`
		}
		if err := lines.Decode(&d); err != nil {
			return fmt.Errorf("git ward directive show --json: %w", err)
		}
		if d.WaitsFor == "agent" || d.WaitsFor == "host" {
			return nil
		}
	}
	t.say("no directive waits for the agent; git ward status in %s says what each waits for", diag.Word(t.work()))
	return nil
}

// notFound is a shell's exit code for a missing program.
const notFound = 127

// fit ends a try whose image lacks a program that a criterion runs, or whose own tests fail there.
func (t *trial) fit(lacks, fail bool) error {
	switch {
	case lacks:
		return diag.Hint(errors.New("the image lacks a program that a criterion of the directive runs, so no agent was started"),
			"%s --again --with PACKAGE, the Debian package that has it; if no Debian package has it, the criterion has to install it, as `npm ci && npm test` does: git ward directive edit; with --again alone the agent works all the same", t.same(true))
	case !fail:
		return nil
	}
	d, err := t.newest()
	if err != nil {
		return err
	}
	return diag.Hint(fmt.Errorf("the project's own tests (%s) fail in the fence before any work, so no agent was started", t.checks.String()),
		"git ward verify --bare %s %s %s shows why; %s --again --with PACKAGE adds what they lack, or git ward directive edit %s takes a command that passes there; with --again alone the agent works all the same",
		diag.Word(t.bare()), diag.Word(t.branch), d.Name(), t.same(true), d.Name())
}

// unknownProgram is the rule of a criterion that runs a program which the image lacks.
const unknownProgram = "criteria/unknown-program"

// wanted is the directive's text, with the criteria of the command line.
func (t *trial) wanted() string {
	text := strings.TrimRight(t.text, "\n") + "\n"
	if !decided(text) {
		text += "\n"
	}
	for _, c := range t.checks {
		text += fmt.Sprintf("- [ ] this succeeds (`%s`)\n", c)
	}
	return text
}

// decided reports whether a text has a criterion.
func decided(text string) bool { return strings.Contains("\n"+text, "\n- [ ] ") }

// newest is the most recent directive.
func (t *trial) newest() (newest comms.Directive, err error) {
	repo := git.Open(t.bare())
	names, err := branches.Of(t.ctx, repo)
	if err != nil {
		return newest, err
	}
	text, err := ask(t.ctx, t.dir, "--git-dir="+t.bare(), "cat-file", "blob", names.ControlRef()+":COMMS.md")
	if err != nil {
		return newest, err
	}
	doc, _ := comms.Parse([]byte(text))
	for _, d := range doc.Directives {
		if d.ID > newest.ID {
			newest = d
		}
	}
	return newest, nil
}

// interactive reports whether a person at a terminal can be asked.
func (t *trial) interactive() bool {
	f, ok := t.env.Stdin.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// checks are the values of a repeatable flag.
type checks []string

// String has each as a word of its own: a shell would read "; " between them as one command.
func (c *checks) String() string {
	var words []string
	for _, command := range *c {
		words = append(words, diag.Word(command))
	}
	return strings.Join(words, ", ")
}

// Set adds one command.
func (c *checks) Set(command string) error {
	if command = strings.TrimSpace(command); command == "" || strings.ContainsAny(command, "`\n") {
		return errors.New("a criterion's command is one line for the shell, without backticks")
	}
	*c = append(*c, command)
	return nil
}

// guess is the project's test command by its manifest. It only saves typing: the person sees
// it in the directive, and can give another by --criterion.
func guess(dir string) checks {
	has := func(name, text string) bool {
		data, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && strings.Contains("\n"+string(data), text)
	}
	var manifest struct{ Scripts map[string]string }
	if data, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil {
		json.Unmarshal(data, &manifest) // an unreadable package.json has no tests either
	}
	switch {
	case has("go.mod", ""):
		return checks{"go test ./..."}
	case manifest.Scripts["test"] != "" && has("package-lock.json", ""):
		return checks{"npm ci && npm test"} // node_modules is in no commit
	case manifest.Scripts["test"] != "":
		return checks{"npm test"}
	case has("Cargo.toml", ""):
		return checks{"cargo test"}
	case has("pyproject.toml", ""), has("setup.py", ""):
		return checks{"python3 -m pytest"}
	case has("Makefile", "\ntest:"):
		return checks{"make test"}
	}
	return nil
}
