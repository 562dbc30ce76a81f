package sandbox

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/state"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier"
)

// verify runs a claim's commands as the launch says: in containers of their own,
// or unfenced (LOOP-5).
func (s *Spec) verify(ctx context.Context, log zerolog.Logger, policy firewall.Policy, claim verifier.Claim) (_ *verifier.Facts, err error) {
	v := s.Settings.Verify
	limits := verifier.Limits{Time: v.Timeout.Duration, Output: v.OutputSize}
	repo := git.Open(s.Bare)
	if s.Unfenced {
		return verifier.Verify(ctx, repo, &verifier.Processes{Bare: s.Bare, Limits: limits}, claim)
	}
	if v.Network == "none" {
		policy.Mode, policy.Resolvers = firewall.Allowlist, nil // of nothing: no gateway is there
	}
	f := &fence{Spec: s, log: log, policy: policy}
	// A name of its own: the agent's next container must not sweep this one away.
	if err := f.open(ctx, "verify-"+owner(s.Bare)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	return verifier.Verify(ctx, repo, f.verifier(limits), claim)
}

// verifier runs commands in containers that have the repository and a directory
// to work in, and neither door nor gateway.
func (f *fence) verifier(limits verifier.Limits) *verifier.Containers {
	spec := f.plain()
	spec.Mounts = append(spec.Mounts, podman.Mount{Kind: podman.Tmpfs, Target: insideState, Size: f.Settings.Sandbox.TmpSize})
	return &verifier.Containers{
		Engine: f.engine, Limits: limits, Container: *spec, Rules: f.enforce,
		Remote: insideBare, Dir: insideState + "/work",
	}
}

const verifyUsage = "verify --bare DIR [--main REV] [--replays N] [--unfenced] [--json] COMMIT (D-n | --run LINE ...)"

// Verify is `git ward verify`: it runs a directive's commands, or any lines for
// the shell, on a clean checkout of a commit, as a claim's are run, and says how
// they ended. It records nothing: a verdict is the launcher's.
func Verify(ctx context.Context, env *cli.Env) error {
	var bare, main string
	var replays int
	var asJSON bool
	var lines []string
	s := &Spec{Stderr: env.Stderr, RuntimeDir: runtimeDir(env.Getenv), Getenv: env.Getenv, Storage: env.Getenv(storageVar)}
	args, err := env.Flags("verify", verifyUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the bare repository `DIR`")
		fs.StringVar(&main, "main", "refs/heads/main", "the `REV` of main that the commit is held against")
		fs.IntVar(&replays, "replays", 0, "run all of it `N` times; default: as the directive's rung wants")
		fs.Func("run", "a `LINE` for the shell, in a directive's place; may be repeated", func(line string) error {
			lines = append(lines, line)
			return nil
		})
		fs.BoolVar(&s.Unfenced, "unfenced", false, "plain processes, with nothing contained")
		fs.BoolVar(&asJSON, "json", false, "one JSON object")
	})
	switch {
	case err != nil:
		return err
	case bare == "" || len(args) == 0 || len(args) == 1 && len(lines) == 0 || len(args) > 1 && len(lines) > 0 || len(args) > 2:
		return env.Usage(verifyUsage, "--bare, a commit and what to run on it are needed")
	}
	if err := s.open(ctx, env.Path(bare)); err != nil {
		return err
	}
	claim, err := s.claim(ctx, args[0], main, args[1:], lines)
	var unfit *verifier.Unfit
	if err != nil && !errors.As(err, &unfit) {
		return err
	}
	if replays > 0 {
		claim.Replays = replays
	}
	var policy firewall.Policy
	if !s.Unfenced {
		var policyErr error
		if policy, policyErr = s.firewallPolicy(ctx); policyErr != nil {
			return policyErr
		}
	}
	var facts *verifier.Facts
	if err == nil {
		people := io.Writer(env.Stderr)
		if asJSON { // a program waits for the answer alone
			people = io.Discard
		}
		shown := newProgress(people, patience)
		claim.Progress = shown.step
		facts, err = s.verify(ctx, zerolog.Nop(), policy, claim)
		shown.end()
	}
	if errors.As(err, &unfit) {
		facts, err = &verifier.Facts{Commit: claim.Commit, Main: claim.Main, Unfit: unfit.Why}, nil
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = diag.WriteJSON(env.Stdout, facts)
	} else {
		printFacts(env.Stdout, facts)
	}
	if err == nil && (!facts.OK() || len(facts.Deviations) > 0) {
		return cli.ErrFindings
	}
	return err
}

// claim is what is to be run: a directive of main by its name, or lines for the
// shell.
func (s *Spec) claim(ctx context.Context, commit, main string, name, lines []string) (c verifier.Claim, err error) {
	repo := git.Open(s.Bare)
	if commit, err = repo.Commit(ctx, commit); err != nil {
		return c, err
	}
	if main, err = repo.Commit(ctx, main); err != nil {
		return c, err
	}
	if len(name) > 0 {
		d, err := directive(ctx, repo, main, name[0])
		if err != nil {
			return c, err
		}
		c = claimOf(d, s.Settings, commit, main)
		c.Base, err = base(ctx, repo, c, d)
		return c, err
	}
	c = verifier.Claim{Commit: commit, Main: main, Pinned: s.Settings.Verify.Pinned, Replays: 1, Bounds: bounds(s.Settings)}
	for i, line := range lines {
		c.Commands = append(c.Commands, verifier.Command{Name: fmt.Sprintf("line %d", i+1), Line: line})
	}
	return c, nil
}

// directive is the one of a name in a commit's COMMS.md, if it has a command.
func directive(ctx context.Context, repo *git.Repo, commit, name string) (*comms.Directive, error) {
	reader := repo.Reader(ctx)
	defer reader.Close()
	doc, err := state.ReadComms(reader, commit)
	if err != nil {
		return nil, err
	}
	d := doc.Directive(name)
	if d == nil {
		return nil, fmt.Errorf("%.12s:%s has no directive %s", commit, comms.Path, diag.Clean(name))
	}
	if len(claimOf(d, &config.Config{}, "", "").Commands) == 0 {
		return nil, diag.Hint(fmt.Errorf("%s has no command to run", name), "a criterion ends in its command: - [ ] all tests pass (`go test ./...`)")
	}
	return d, nil
}

// printFacts shows each command with its end, and what failed with its last
// words.
func printFacts(w io.Writer, f *verifier.Facts) {
	if f.Unfit != "" {
		fmt.Fprintf(w, "%.12s cannot be judged: %s\n", f.Commit, diag.Clean(f.Unfit))
		return
	}
	left := 0
	for _, a := range f.Additions {
		how := "left out of the run that decides"
		if a.Kept {
			how = "decides, as the commands name it"
		} else {
			left++
		}
		fmt.Fprintf(w, "addition: %s (%s; %s)\n", diag.Clean(a.Path), a.Kind, how)
	}
	for _, d := range f.Deviations {
		fmt.Fprintf(w, "put back: %s (%s)\n", diag.Clean(d.Path), d.Kind)
	}
	for i, runs := range f.Replays {
		printRuns(w, fmt.Sprintf("run %d", i+1), runs)
	}
	if f.With != nil {
		printRuns(w, fmt.Sprintf("with %d", left), f.With)
	}
	if f.Base != f.Main {
		fmt.Fprintf(w, "what decides is as %.12s has it, where the work left main\n", f.Base)
	}
	fence := "fence: none"
	if f.Image != "" {
		fence = "in " + f.Image
	}
	fmt.Fprintf(w, "these commands ended so on %.12s, %s; code can still cheat its own tests\n", f.Commit, fence)
}

// printRuns shows one run of all commands.
func printRuns(w io.Writer, name string, runs []verifier.Run) {
	for _, r := range runs {
		word := "ok"
		if !r.OK() {
			word = fmt.Sprintf("%s %d", r.End, r.Exit)
		}
		fmt.Fprintf(w, "%-12s %s  %-10s %8v  %s\n", r.Name, name, word, r.Time.Round(time.Millisecond), diag.Clean(r.Line))
		if !r.OK() {
			printTail(w, r.Tail)
		}
	}
}

// shownLines is how much of a failed command's output people see.
const shownLines = 10

func printTail(w io.Writer, tail string) {
	lines := strings.Split(strings.TrimRight(tail, "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-shownLines):] {
		fmt.Fprintf(w, "    %s\n", diag.Clean(line))
	}
}
