// Package judge is the host's judge of claims: it finds the claims in the units' journals, has their
// commands run, and writes the verdict as a note on the claimed commit (LOOP-5). It takes a claim's
// commands from the PM's branches: the directive of the control branch, the settings, and everything in
// the project that is not work.
package judge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/crypto/ssh"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

// Judge writes the host's verdict on every claim at the tip of a unit's journal, several at
// once up to its limit, but never two on one directive. All its state is in refs: a claim with
// a verdict in its note is done, so a killed judge simply starts again.
type Judge struct {
	Repo     *git.Repo
	Settings *config.Config
	Log      zerolog.Logger
	// Verify runs a claim's commands. A claim that can never be judged is a *verifier.Unfit.
	Verify func(context.Context, verifier.Claim) (*verifier.Facts, error)
	// AtOnce is how many verdicts run concurrently; 0 is one. They all call Verify and
	// Progress.
	AtOnce int
	// Progress, if set, is told how far a unit's verdict is (LOOP-10), and Judged that nothing
	// runs for it any more.
	Progress func(unit string, s verifier.Step)
	Judged   func(unit string)
	// Redact, if set, returns a filter that removes secrets from the commands' output for one
	// verdict, because everybody can read its note.
	Redact func() func(string) string
	// Assisted, if set, lists the programs and models that worked on a directive.
	Assisted func(directive string) []string

	Every  time.Duration     // between readings of the refs; 0 is half a second
	turned func(looked bool) // for a test: called each turn

	calm map[uow.ID]string // units' tips without an open claim, which are not read again

	noting sync.Mutex // of key, too
	key    ssh.Signer // nil before the first verdict
}

// open lists the claims and merges without a verdict, by their units. An error in one journal
// does not delay the others' verdicts.
func (j *Judge) open(ctx context.Context) (list []request, all error) {
	reader := j.Repo.Reader(ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return nil, err
	}
	calm := map[uow.ID]string{}
	for _, u := range units {
		if j.calm[u.ID] == u.Tip {
			calm[u.ID] = u.Tip
			continue
		}
		claim, again, err := openClaim(reader, u)
		if errors.Is(err, errNoClaim) {
			calm[u.ID] = u.Tip
			continue
		}
		if again && err == nil {
			var why string
			if why, err = j.untried(ctx, claim.Claim.Commit); why != "" {
				continue
			}
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", u.ID, err))
		} else if claim != nil {
			list = append(list, request{claim, ""})
		}
	}
	j.calm = calm
	merges, err := j.merges(ctx, reader)
	return append(list, merges...), errors.Join(all, err)
}

// errNoClaim means that a unit's state is no claim.
var errNoClaim = errors.New("it stands at no claim")

// openClaim returns the record of a unit's current claim, nil if it has its verdict; the error is
// errNoClaim if there is none. again says that the claim must be judged again once its program has
// passed a probation.
func openClaim(reader state.Reader, u state.Unit) (claim *uow.Record, again bool, err error) {
	last, err := state.Record(reader, u.Tip)
	if err != nil {
		return nil, false, err
	}
	if last.State != uow.Active || last.Claim == nil || last.Claim.Iteration != last.Iteration {
		return nil, false, errNoClaim
	}
	claim, err = state.Claimed(reader, u.Tip)
	if claim == nil || err != nil {
		return nil, false, err
	}
	verdict, err := state.Answer(reader, claim.Claim.Commit, claim.Hash)
	if again = verdict != nil && verdict.Untried; verdict != nil && !again || err != nil {
		return nil, false, err
	}
	return claim, again, nil
}

// judge runs a claim's commands and writes the verdict as a note.
func (j *Judge) judge(ctx context.Context, r request) error {
	start := time.Now()
	ctx, kept := git.Keep(ctx)
	defer kept()
	attended, done := j.attend(ctx, r)
	defer done()
	var v loop.Verdict
	err := context.Cause(attended)
	if err == nil {
		v, err = j.verdict(attended, r)
	}
	if errors.Is(context.Cause(attended), errWithdrawn) {
		j.Log.Info().Str("unit", r.ID).Dur("ms", time.Since(start)).Msg("the verdict is put off: the unit does not wait for it now")
		return nil
	}
	if err != nil {
		return err
	}
	v.Unit, v.DirectiveHash, v.Commit, v.Claim = r.ID, r.DirectiveHash, r.commit(), r.Hash
	if r.merge != "" {
		v.Takes = r.Claim.Commit
	}
	v.Iteration = int(r.Claim.Iteration)
	if j.Assisted != nil {
		v.Assisted = j.Assisted(r.Directive)
	}
	v.Time = uow.FormatTime(time.Now())
	line, err := v.Line()
	if err != nil {
		return err
	}
	j.noting.Lock()
	defer j.noting.Unlock()
	if err := j.attest(ctx, v); err != nil {
		return err
	}
	if err := j.add(ctx, loop.VerdictsRef, v.Commit, line); err != nil {
		return err
	}
	j.Log.Info().Str("unit", r.ID).Str("commit", r.commit()[:12]).Str("verdict", v.Verdict).Str("reason", v.Reason).
		Dur("ms", time.Since(start)).Msg("judged")
	return nil
}

// verdict computes a claim's verdict. The PM's branches decide what is run: the directive, as
// named in the claim's record, and everything that is not work.
func (j *Judge) verdict(ctx context.Context, r request) (v loop.Verdict, err error) {
	heads, err := ReadHeads(ctx, j.Repo, j.Settings.Control)
	if err != nil {
		return v, err
	}
	defer func() {
		if v.Record = r.Claim.Record; j.Settings.Control.Split() {
			v.Control = heads.Control
		}
	}()
	reader := j.Repo.Reader(ctx)
	defer reader.Close()
	doc, err := state.ReadComms(reader, heads.Control)
	if err != nil {
		return v, err
	}
	d := doc.Directive(r.Directive)
	if d == nil || d.Hash() != r.DirectiveHash {
		return unjudged(j.Settings.Control.Branch + " has another text of " + r.Directive + " by now"), nil
	}
	if why, err := unheld(ctx, j.Repo, r.Record); why != "" || err != nil {
		return unjudged(why), err
	}
	declaration, _, missing := loop.Declare(r.ID, *d, loop.Base(j.Settings.Loop))
	if len(missing) > 0 {
		return unjudged("the directive does not say " + missing[0]), nil
	}
	claim := ClaimOf(d, j.Settings, r.commit(), heads.Project)
	if len(claim.Commands) == 0 {
		return unjudged("no criterion has a command"), nil
	}
	if err := holdOut(j.Repo.Dir, d, &claim); err != nil {
		return v, err
	}
	if j.Redact != nil {
		claim.Redact = j.Redact()
	}
	claim.Progress = func(s verifier.Step) {
		j.logStep(r.ID, s)
		if j.Progress != nil {
			j.Progress(r.ID, s)
		}
	}
	var facts *verifier.Facts
	if r.merge != "" { // what the PM merged it into
		claim.Main, err = reader.Parent(r.merge)
		claim.Base = claim.Main
		if err == nil {
			err = j.withMerged(ctx, &claim, r.Claim.Commit)
		}
	} else {
		if claim.Base, err = Base(ctx, j.Repo, claim, heads, d); err == nil {
			claim.Base, err = NotBefore(ctx, j.Repo, j.Settings.Control, claim, r.ID)
		}
	}
	if err == nil {
		facts, err = j.Verify(ctx, claim)
	}
	if unfit, ok := errors.AsType[*verifier.Unfit](err); ok { // the commit's own fault, and permanent
		return unjudged(claim.Redacted(unfit.Why)), nil
	}
	if err != nil {
		return loop.Verdict{}, err
	}
	if err := sayHeld(j.Repo.Dir, d, r.commit(), facts); err != nil {
		return v, err
	}
	v = verdictOf(declaration, d, facts, claim.Redacted)
	why, err := j.untried(ctx, r.Claim.Commit)
	switch {
	case err != nil:
		return v, err
	case why != "":
		return v.Unproved(why), nil
	case claim.Against != nil:
		v.Gate, err = gate(ctx, j.Repo, r.Claim.Commit)
	}
	return v.Reached(), err
}

// gate returns the commit of the audit's notes that records by which push the gate admitted a commit; ""
// if the gate saw none.
func gate(ctx context.Context, repo *git.Repo, commit string) (string, error) {
	reader := repo.Reader(ctx)
	defer reader.Close()
	tip, err := reader.Tip(state.AuditNotes)
	if tip == "" || err != nil {
		return "", err
	}
	if note, err := reader.Note(tip, commit, state.MaxAuditNote); len(note) == 0 || err != nil {
		return "", err
	}
	return tip, nil
}

// logStep logs a claim's progress (LOOP-10), without the messages that a command still runs.
func (j *Judge) logStep(unit string, s verifier.Step) {
	if s.Ended == nil && s.Elapsed > 0 {
		return
	}
	e := j.Log.Info().Str("unit", unit).Str("command", s.Name).Int("run", s.Run).Int("runs", s.Runs).Bool("all", s.With).Str("for", s.Note)
	if s.Ended == nil {
		e.Msg("a command starts")
		return
	}
	e.Str("end", s.Ended.End).Int("exit", s.Ended.Exit).Dur("ms", s.Ended.Time).Msg("a command has ended")
}
