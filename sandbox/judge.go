package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/verifier"
)

// judge writes the host's verdict on every claim that stands at the tip of a
// unit's journal, one after the other (LOOP-5). What it knows is in refs: a claim
// whose note has a verdict on it is done, so a judge that was killed starts over.
type judge struct {
	*Spec
	log    zerolog.Logger
	policy firewall.Policy
	repo   *git.Repo
}

const (
	// lookEvery is how often the judge looks for claims.
	lookEvery = 500 * time.Millisecond
	// sulk is how long it waits with a claim that it could not run.
	sulk = 30 * time.Second
	// calm is how many looks in a row find nothing before it rests. A ref that
	// moves within one tick of the file system's clock leaves the mark as it was;
	// the second look, lookEvery later, still sees it.
	calm = 2
)

// serve judges until ctx ends. What goes wrong with one claim is logged and tried
// again: no verdict is better than a wrong one, and the agent's patience is
// bounded by [verify] timeout.
func (j *judge) serve(ctx context.Context) error {
	later := map[string]time.Time{} // by the record's hash
	var seen [2]git.Mark
	for quiet := 0; ; {
		marks := [2]git.Mark{j.repo.Mark(uow.RefPrefix), j.repo.Mark(loop.VerdictsRef)}
		if marks != seen {
			seen, quiet = marks, 0
		}
		if quiet < calm {
			if j.look(ctx, later) {
				quiet++
			} else {
				quiet = 0
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// look judges what is open and not put off until later. It reports whether there
// was nothing: no claim, and no trouble on the way.
func (j *judge) look(ctx context.Context, later map[string]time.Time) bool {
	claims, err := j.open(ctx)
	if err != nil && ctx.Err() == nil {
		j.log.Error().Err(err).Msg("the journals cannot be read")
	}
	for _, r := range claims {
		if time.Now().Before(later[r.Hash]) {
			continue
		}
		if err := j.judge(ctx, r); err != nil && ctx.Err() == nil {
			later[r.Hash] = time.Now().Add(sulk)
			j.log.Error().Err(err).Str("unit", r.ID).Msg("the claim cannot be judged")
		}
	}
	return err == nil && len(claims) == 0
}

// open lists the claims that have no verdict, by their units. What is broken in
// one journal does not keep the others from their verdicts.
func (j *judge) open(ctx context.Context) (list []*uow.Record, all error) {
	reader := j.repo.Reader(ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		claim, err := openClaim(reader, u)
		if err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", u.ID, err))
		} else if claim != nil {
			list = append(list, claim)
		}
	}
	return list, all
}

// openClaim is the record of the claim that a unit stands at, nil when it stands at
// none, or the claim has its verdict.
func openClaim(reader state.Reader, u state.Unit) (*uow.Record, error) {
	last, err := state.Record(reader, u.Tip)
	if err != nil || last.State != uow.Active || last.Claim == nil || last.Claim.Iteration != last.Iteration {
		return nil, err
	}
	claim, err := state.Claimed(reader, u.Tip)
	if claim == nil || err != nil {
		return nil, err
	}
	verdict, err := state.Answer(reader, claim.Claim.Commit, claim.Hash)
	if verdict != nil || err != nil {
		return nil, err
	}
	return claim, nil
}

// judge runs a claim and notes the verdict.
func (j *judge) judge(ctx context.Context, r *uow.Record) error {
	start := time.Now()
	v, err := j.verdict(ctx, r)
	if err != nil {
		return err
	}
	v.Unit, v.DirectiveHash, v.Commit, v.Claim = r.ID, r.DirectiveHash, r.Claim.Commit, r.Hash
	v.Iteration = int(r.Claim.Iteration)
	v.Time = uow.FormatTime(time.Now())
	line, err := v.Line()
	if err != nil {
		return err
	}
	if err := j.repo.AppendNote(ctx, loop.VerdictsRef, r.Claim.Commit, line); err != nil {
		return err
	}
	j.log.Info().Str("unit", r.ID).Str("commit", r.Claim.Commit[:12]).Str("verdict", v.Verdict).Str("reason", v.Reason).
		Dur("ms", time.Since(start)).Msg("judged")
	return nil
}

// verdict is what the claim's commands come to. Main decides what is run: its
// directive, as the claim's record names it, and its pinned paths.
func (j *judge) verdict(ctx context.Context, r *uow.Record) (loop.Verdict, error) {
	main, err := j.repo.Commit(ctx, "refs/heads/main")
	if err != nil {
		return loop.Verdict{}, err
	}
	reader := j.repo.Reader(ctx)
	defer reader.Close()
	doc, err := state.ReadComms(reader, main)
	if err != nil {
		return loop.Verdict{}, err
	}
	d := doc.Directive(r.Directive)
	if d == nil || d.Hash() != r.DirectiveHash {
		return none("main has another text of " + r.Directive + " by now"), nil
	}
	if _, err := j.repo.Commit(ctx, r.Claim.Commit); err != nil {
		return none("the claimed commit is not there"), nil
	}
	declaration, _, missing := loop.Declare(r.ID, *d, loop.Base(j.Settings.Loop))
	if len(missing) > 0 {
		return none("the directive does not say " + missing[0]), nil
	}
	claim := claimOf(d, j.Settings, r.Claim.Commit, main)
	if len(claim.Commands) == 0 {
		return none("no criterion has a command"), nil
	}
	claim.Progress = func(s verifier.Step) { logStep(&j.log, r.ID, s) }
	var facts *verifier.Facts
	if claim.Base, err = base(ctx, j.repo, claim, d); err == nil {
		facts, err = j.verify(ctx, j.log, j.policy, claim)
	}
	var unfit *verifier.Unfit
	if errors.As(err, &unfit) { // the commit's own fault: it would be the same tomorrow
		return none(unfit.Why), nil
	}
	if err != nil {
		return loop.Verdict{}, err
	}
	return word(declaration, d, facts), nil
}

// base is the commit of main's that a claim's deciding paths come from: where its
// work left main, if the directive said by then what it says now. Work that began
// before is held against main as it stands: else an agent could choose, by where it
// begins, tests that the PM has long replaced.
func base(ctx context.Context, repo *git.Repo, c verifier.Claim, d *comms.Directive) (string, error) {
	commit, err := verifier.Base(ctx, repo, c.Main, c.Commit)
	if err != nil {
		return "", err
	}
	reader := repo.Reader(ctx)
	defer reader.Close()
	doc, err := state.ReadComms(reader, commit)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return c.Main, nil
	}
	if err != nil {
		return "", err
	}
	if then := doc.Directive(d.Name()); then == nil || then.Hash() != d.Hash() {
		return c.Main, nil
	}
	return commit, nil
}

// none is a verdict on a claim of which nothing was run.
func none(reason string) loop.Verdict {
	v := loop.Judge(loop.Declaration{}, nil)
	v.Reason = reason
	return v
}

// word puts the facts into the words of the loop and lets it judge them.
func word(p loop.Declaration, d *comms.Directive, f *verifier.Facts) loop.Verdict {
	trials := make([]loop.Trial, len(f.Replays))
	for i, runs := range f.Replays {
		trials[i] = trial(d, runs)
	}
	v := loop.Judge(p, trials)
	var left []string
	for _, a := range f.Additions {
		if !a.Kept {
			left = append(left, a.Path)
		}
	}
	if f.With != nil {
		v = v.With(loop.Judge(p, []loop.Trial{trial(d, f.With)}), left)
	}
	for _, a := range f.Additions {
		v.Additions = append(v.Additions, named(a.Path, a.Kind))
	}
	for _, a := range f.Accepted {
		v.Accepted = append(v.Accepted, diag.Clean(a))
	}
	for _, dev := range f.Deviations {
		v.Deviations = append(v.Deviations, named(dev.Path, dev.Kind))
	}
	v.Image, v.Fence, v.Main, v.Base = f.Image, f.Fence, f.Main, f.Base
	return v
}

// named is a path and what became of it. Names are the agent's, and a note is JSON:
// bytes that are no text are escaped, or the verdict could not be written.
func named(path, kind string) string { return diag.Clean(path) + " (" + kind + ")" }

// trial reads one replay's ends by the names that claimOf gave.
func trial(d *comms.Directive, runs []verifier.Run) (t loop.Trial) {
	for i, c := range d.Criteria {
		for _, r := range runs {
			if r.Name == criterionName(i) {
				t.Criteria = append(t.Criteria, outcome(c.Text, r))
			}
		}
	}
	for _, r := range runs {
		o := outcome("", r)
		switch r.Name {
		case residualName:
			t.Residual = &o
			t.Value, _ = loop.ParseResidual(r.LastLine) // what is no decimal is not known
		case suiteName:
			t.Suite = &o
		case validateName:
			t.Validate = &o
		}
	}
	return t
}

// outcome is a command's end in the loop's words.
func outcome(criterion string, r verifier.Run) loop.Outcome {
	o := loop.Outcome{Criterion: criterion, Command: r.Line, ExitCode: r.Exit, Met: r.OK(), OutputSHA256: r.SHA256, Tail: loop.Tail([]byte(r.Tail))}
	switch r.End {
	case verifier.TimedOut:
		o.Trouble = "it did not end within [verify] timeout"
	case verifier.Flooded:
		o.Trouble = "it printed more than [verify] output_size"
	case verifier.Exited:
		if r.Exit == notFound {
			o.Trouble = verifier.Missing(r.Line, r.Tail) + ": [sandbox] image and programs say what is there"
		}
	}
	return o
}

// notFound is how a shell ends that did not find a command (POSIX).
const notFound = 127
