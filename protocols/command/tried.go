package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

// tried is what `git ward verify --json` prints about criteria that ran on the project as it
// is.
type tried struct {
	Unfit   string `json:"unfit"`
	Replays [][]struct {
		Line string `json:"line"`
		End  string `json:"end"`
		Exit int    `json:"exit"`
	} `json:"replays"`
	Missing *struct {
		Line string `json:"line"`
		Tool string `json:"tool"`
	} `json:"missing"`
	Controls []struct {
		Says string `json:"says"`
	} `json:"controls"` // in the order of the lines, where all of them held
}

// notFound is a shell's exit code for a missing program.
const notFound = 127

// exit is the exit code of a line; a line that was killed counts as failed.
func (t *tried) exit(line string) int {
	for _, runs := range t.Replays {
		for _, r := range runs {
			if r.Line == line && (r.End == "exit" || r.Exit != 0) {
				return r.Exit
			}
		}
	}
	return 1
}

// trial is what the try of a directive's criteria has found.
type trial struct {
	found []diag.Diagnostic // what is wrong with them
	// notMet are the commands that fail as long as nobody did the work; nil if none was tried.
	notMet  []string
	lines   int    // how many commands there are
	untried string // why they were not tried, or not to the end; "" if they were
}

// tryCriteria runs the criteria of a pushed directive on the project as it is, behind the
// host's fence, so that a useless criterion is found now and not after the agent's work.
// Without a host or a fence, or after limit, the trial says so, and no more than can be read.
func (u *units) tryCriteria(d *comms.Directive, limit time.Duration) trial {
	var lines []string
	for _, c := range d.Criteria {
		if c.Command != "" && !slices.Contains(lines, c.Command) {
			lines = append(lines, c.Command)
		}
	}
	if len(lines) == 0 {
		return trial{found: lackingCommand(d)}
	}
	ctx, cancel := context.WithTimeout(u.ctx, limit)
	defer cancel()
	bare, err := u.host()
	var all, again *tried
	if err == nil {
		all, again, err = u.tryTwice(ctx, bare, lines)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return trial{untried: fmt.Sprintf("the criteria were not tried to the end on %s: it takes longer than %s; `git ward verify --bare %s %s %s` tries them", u.names.Project, limit, diag.Word(bare), u.names.Project, d.Name())}
	}
	if err != nil {
		return trial{untried: fmt.Sprintf("the criteria were not tried on %s: %s", u.names.Project, diag.OneLine(err.Error()))}
	}
	found, notMet := judgeTried(d, u.names.Project, all, again)
	return trial{found: append(lackingCommand(d), found...), notMet: notMet, lines: len(lines)}
}

// print tells a person what the trial has found.
func (t *trial) print(u *units) {
	diag.WriteText(u.env.Stderr, t.found)
	if t.untried != "" {
		fmt.Fprintln(u.env.Stderr, t.untried)
	}
	if len(t.notMet) > 0 {
		fmt.Fprintf(u.env.Stdout, "criteria tried on %s: %d of %d not met yet, as it should be\n", u.names.Project, len(t.notMet), t.lines)
	}
}

// tryFor is how long a person waits for criteria to be tried: each that passes is run again
// for each control, of which there may be any number.
const tryFor = 2 * time.Minute

// tryTwice runs the lines, and those that passed once more with their tests broken. A
// verification tests whether commands can fail only if all of them passed.
func (u *units) tryTwice(ctx context.Context, bare string, lines []string) (all, again *tried, err error) {
	defer u.env.Slow("trying the criteria on " + u.names.Project + "; the directive is pushed, so ^C loses nothing")()
	if all, err = u.verify(ctx, bare, lines); err != nil {
		return nil, nil, err
	}
	held := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return all.exit(line) != 0 })
	switch {
	case len(held) == 0:
		return all, &tried{}, nil
	case len(held) == len(lines):
		return all, all, nil
	}
	again, err = u.verify(ctx, bare, held)
	return all, again, err
}

// host is the bare repository of this clone if it is on this machine and readable.
func (u *units) host() (string, error) {
	dir := u.repo.Dir
	if u.remote == "origin" {
		out, err := u.repo.Output(u.ctx, "config", "--get", "remote.origin.url")
		if err != nil {
			return "", err
		}
		if dir = strings.TrimPrefix(strings.TrimSpace(string(out)), "file://"); !filepath.IsAbs(dir) {
			return "", errors.New("the repository is on another machine, and git ward verify runs there")
		}
	}
	_, err := os.Stat(filepath.Join(dir, config.Path))
	return dir, err
}

// verify runs lines on the project's tip.
func (u *units) verify(ctx context.Context, bare string, lines []string) (*tried, error) {
	program, err := cli.Program("git-ward-launch")
	if err != nil {
		return nil, err
	}
	args := []string{"verify", "--bare", bare, "--json"}
	for _, line := range lines {
		args = append(args, "--run", line)
	}
	cmd := exec.CommandContext(ctx, program, append(args, "refs/heads/"+u.names.Project)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it removes its containers
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir, cmd.Env = bare, git.Elsewhere(os.Environ())
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err = cmd.Run(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t := new(tried)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 || err == nil {
		if err = json.Unmarshal(out.Bytes(), t); err == nil && t.Unfit != "" {
			err = errors.New(t.Unfit)
		}
		return t, err
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(words.String()), "\n"); first != "" {
		err = errors.New(strings.TrimPrefix(first, "git-ward: error: "))
	}
	return nil, err
}

// The rules of what is wrong with criteria.
const (
	ruleNoCommand  = "criteria/no-command"
	ruleUnknown    = "criteria/unknown-program"
	ruleHolds      = "criteria/holds-already"
	ruleCannotFail = "criteria/cannot-fail"
)

// bring is the remedy for a program that the image lacks, or that is the work's to bring.
const bring = "if the work does not bring it: `git ward image build --with PACKAGE` on the host makes an image that has it, for [sandbox] image; or the criterion does without: "

func criterionFinding(d *comms.Directive, rule, message, hint string) diag.Diagnostic {
	return diag.Diagnostic{Pos: diag.Pos{Path: d.Name()}, Severity: diag.Warning, Rule: rule, Message: message, Hint: hint}
}

// lackingCommand are the criteria that no command decides.
func lackingCommand(d *comms.Directive) (found []diag.Diagnostic) {
	for _, c := range d.Criteria {
		if c.Command == "" {
			found = append(found, criterionFinding(d, ruleNoCommand, "no command decides: "+diag.OneLine(c.Text), "end it in a command, as `"+comms.ExampleCriterion+"` does: git ward directive edit "+d.Name()))
		}
	}
	return found
}

// judgeTried reports what is wrong with a directive's criteria that ran on the project as it
// is; again is the second run of those that passed. notMet are the commands that fail as they
// should, because the work is not done yet; it is never nil.
func judgeTried(d *comms.Directive, project string, all, again *tried) (found []diag.Diagnostic, notMet []string) {
	edit := "git ward directive edit " + d.Name()
	says := map[string]string{}
	if len(again.Replays) > 0 {
		for i, r := range again.Replays[0] {
			if i < len(again.Controls) {
				says[r.Line] = again.Controls[i].Says
			}
		}
	}
	fails := func(c comms.Criterion) bool {
		exit := all.exit(c.Command)
		return c.Command != "" && exit != 0 && exit != notFound && (all.Missing == nil || all.Missing.Line != c.Command)
	}
	notMet = []string{}
	for _, c := range d.Criteria {
		if fails(c) && !slices.Contains(notMet, c.Command) {
			notMet = append(notMet, c.Command)
		}
	}
	lacks := func(advice string) string { // what to do about one that holds already
		if len(notMet) > 0 {
			return "another one fails until the work is done, so this one may stay to say that nothing broke; if it is to fail, too: " + edit
		}
		return advice + edit
	}
	for _, c := range d.Criteria {
		text := diag.OneLine(c.Text)
		switch {
		case c.Command == "" || fails(c):
		case all.Missing != nil && all.Missing.Line == c.Command:
			found = append(found, criterionFinding(d, ruleUnknown, fmt.Sprintf("unknown program %s: %s", diag.OneLine(all.Missing.Tool), text), bring+edit))
		case all.exit(c.Command) == notFound:
			found = append(found, criterionFinding(d, ruleUnknown, "a program that it runs is not there: "+text, bring+edit))
		case says[c.Command] == loop.ControlCannotFail:
			found = append(found, criterionFinding(d, ruleCannotFail, "it cannot fail, for it holds with the tests broken that it runs: "+text, "see that the command ends with the tests' exit code: "+edit))
		case d.Options.Guards != "": // that nothing broke is all it asks
		case d.Options.Breaks == "" && (says[c.Command] == loop.ControlNotApplicable || says[c.Command] == loop.ControlNotTried): // a verification breaks more
			found = append(found, criterionFinding(d, ruleHolds, "it holds already on "+project+", and no test decides it: "+text, lacks("write one that fails until the work is done: ")))
		default:
			found = append(found, criterionFinding(d, ruleHolds, "it holds already on "+project+": "+text, lacks("keep it to say that nothing broke, and add one that fails until the work is done: ")))
		}
	}
	return found, notMet
}
