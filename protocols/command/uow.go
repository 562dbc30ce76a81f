package command

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// UOW is `git ward uow`: the PM's view of the units of work, and the PM's verbs
// (UOW-4). It runs in a clone, or in the bare repository.
func UOW(ctx context.Context, env *cli.Env) error {
	verbs := []cli.Command{
		{Name: "list", Doc: "list the units and what each waits for", Run: uowList},
		{Name: "show", Doc: "show a unit's journal, budget, residuals and verdicts", Run: uowShow},
	}
	for _, v := range uowVerbs {
		verbs = append(verbs, cli.Command{Name: v.name, Doc: v.doc, Run: v.run})
	}
	return cli.Dispatch("git ward uow", "Units of work: what the agent's work stands at, and your word in it.", []cli.Group{
		{Title: "each verb takes a unit, and perhaps --reason CODE and -m TEXT", Commands: verbs},
	})(ctx, env)
}

// verb is one of the PM's steps.
type verb struct {
	name  string
	doc   string
	event uow.Event
}

var uowVerbs = []verb{
	{"approve", "let a unit that asked go on", uow.Approve},
	{"reject", "end a unit that asked", uow.Reject},
	{"clarify", "tell a blocked unit what it did not know (-m)", uow.Clarify},
	{"retry", "try a blocked unit again, within its retries", uow.Retry},
	{"waive", "try it again beyond its retries; --deny: make it a dead letter", uow.Waive},
	{"heartbeat", "give the sign that the policy's pulse wants", uow.Heartbeat},
	{"pause", "stop a unit; --all: every one", uow.Pause},
	{"resume", "let a paused unit go on", uow.Resume},
	{"cancel", "end a unit", uow.Cancel},
	{"fork", "open the next unit of a directive whose text is the same", uow.Fork},
	{"archive", "put a refined unit away; --expire: drop the record of one that was", uow.Archive},
}

// run is the verb as a command.
func (v verb) run(ctx context.Context, env *cli.Env) error {
	var reason, note, configFile string
	var deny, all, expire, fresh bool
	usage := "uow " + v.name + " [--reason CODE] [-m TEXT] UNIT"
	if v.event == uow.Pause {
		usage += "|--all"
	}
	args, err := env.Flags("uow "+v.name, usage, func(fs *flag.FlagSet) {
		fs.StringVar(&reason, "reason", "", "why, as a `CODE`, the first by itself: "+codes(v.event))
		fs.StringVar(&note, "m", "", "why, in words: a `text` that the agent reads")
		fs.StringVar(&configFile, "config", "", "the host's settings, a `file`; needed where they differ from Ward's defaults")
		if v.event == uow.Waive {
			fs.BoolVar(&deny, "deny", false, "deny the waiver: the unit is a dead letter (codes: "+codes(uow.Deny)+")")
		}
		if v.event == uow.Archive {
			fs.BoolVar(&expire, "expire", false, "drop the unit's record: evidence, plans, transcripts (codes: "+codes(uow.Expire)+")")
		}
		if v.event == uow.Fork {
			fs.BoolVar(&fresh, "fresh", false, "begin from the project again, not from what the unit before has left")
		}
		if v.event == uow.Pause {
			fs.BoolVar(&all, "all", false, "every unit that can be paused")
		}
	})
	if err != nil {
		return err
	}
	if deny {
		v.event = uow.Deny
	}
	if expire {
		v.event = uow.Expire
	}
	allowed := uow.Reasons(v.event, uow.PM)
	switch {
	case fresh && reason != "" && uow.Reason(reason) != uow.FreshStart:
		return env.Usage(usage, "--fresh is the reason %s by itself", uow.FreshStart)
	case fresh:
		reason = string(uow.FreshStart)
	case reason == "":
		reason = string(allowed[0])
	}
	if !slices.Contains(allowed, uow.Reason(reason)) {
		return env.Usage(usage, "--reason is one of %s", codes(v.event))
	}
	if len(args) != 1 && !all || len(args) > 0 && all {
		return env.Usage(usage, "name one unit, such as D-1.1")
	}
	u, err := openUnits(ctx, env, configFile)
	if err != nil {
		return err
	}
	defer u.close()
	in := uow.Input{Event: v.event, Actor: uow.PM, Reason: uow.Reason(reason), Note: note}
	if all {
		return u.pauseAll(in)
	}
	id, err := uow.ParseID(args[0])
	if err != nil {
		return env.Usage(usage, "%v", err)
	}
	if expire {
		return u.expire(id, in)
	}
	return u.step(id, in)
}

func codes(e uow.Event) string {
	var list []string
	for _, c := range uow.Reasons(e, uow.PM) {
		list = append(list, string(c))
	}
	return strings.Join(list, ", ")
}

// step makes one step and pushes it, with refs that go with it; after a lost race it is
// made anew on the new tip, which push fetched.
func (u *units) step(id uow.ID, in uow.Input, drop ...dropped) error {
	const tries = 5
	for range tries {
		in.Time = time.Now()
		target, next, parent, err := u.advance(id, in)
		if err != nil {
			return err
		}
		data, err := next.Marshal()
		if err != nil {
			return err
		}
		// Two people may say the same in the same second. Their commits must differ,
		// or one of two equal pushes counts for both.
		commit, err := u.repo.CommitFile(parent, uow.File, data, in.Time, uow.Subject(next)+"\n\nWard-Verb: "+rand.Text())
		if err != nil {
			return err
		}
		moved, err := u.push(commit, target, parent, drop...)
		if err != nil {
			return err
		}
		if moved {
			_, err := fmt.Fprintln(u.env.Stdout, next.Line())
			return err
		}
	}
	return fmt.Errorf("the unit moved each of %d times; try again", tries)
}

// advance makes the record of a step, and says for which unit and on which tip.
func (u *units) advance(id uow.ID, in uow.Input) (target uow.ID, next *uow.Record, parent string, err error) {
	j, err := u.journal(id)
	if err != nil {
		return id, nil, "", err
	}
	if j == nil {
		return id, nil, "", diag.Hint(fmt.Errorf("there is no unit %s", id), "git ward uow list")
	}
	target, prev, parent := id, j.Last(), j.Tip
	var world uow.World
	if world.Main, err = u.main(j); err != nil {
		return id, nil, "", err
	}
	if in.Event == uow.Fork {
		if err := u.forkable(id.Directive); err != nil {
			return id, nil, "", err
		}
		target, world.Last, prev, parent = uow.ID{Directive: id.Directive, K: id.K + 1}, prev, nil, ""
		if tip, err := u.reader.Tip(target.Ref()); err != nil || tip != "" {
			return target, nil, "", errors.Join(err, diag.Hint(fmt.Errorf("%s exists already", target), "fork the last unit of the directive"))
		}
	}
	next, found := uow.Advance(target, prev, in, world)
	if len(found) > 0 {
		diag.WriteText(u.env.Stdout, found)
		return target, nil, "", cli.ErrFindings
	}
	return target, next, parent, nil
}

// forkable is the error of a directive that nobody would work on again as it stands.
func (u *units) forkable(directive string) error {
	doc, err := state.ReadComms(u.reader, u.names.ControlRef())
	if err != nil {
		return err
	}
	if d := doc.Directive(directive); d != nil && doc.Dropped(*d) {
		return diag.Hint(fmt.Errorf("%s was dropped, so that nobody works on this text", directive), "git ward directive edit %s opens it again", directive)
	}
	return nil
}

// pauseAll pauses every unit that can be paused, and says so of each.
func (u *units) pauseAll(in uow.Input) error {
	all, _, err := state.Units(u.reader)
	if err != nil {
		return err
	}
	paused := 0
	for _, unit := range all {
		j, err := u.journal(unit.ID)
		if err != nil {
			return err
		}
		if now := j.Last().State; now != uow.Active && now != uow.Pending {
			continue
		}
		if err := u.step(unit.ID, in); err != nil {
			return err
		}
		paused++
	}
	_, err = fmt.Fprintf(u.env.Stdout, "%d units paused\n", paused)
	return err
}

func uowList(ctx context.Context, env *cli.Env) error {
	const usage = "uow list [--all] [--json]"
	var all, asJSON bool
	args, err := env.Flags("uow list", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&all, "all", false, "archived ones, too")
		fs.BoolVar(&asJSON, "json", false, "the last record of each, one a line")
	})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return env.Usage(usage, "unexpected argument %q", args[0])
	}
	u, err := openUnits(ctx, env, "")
	if err != nil {
		return err
	}
	defer u.close()
	units, _, err := state.Units(u.reader)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "UNIT\tSTATE\tITERATION\tLEFT\tSINCE\tREASON\tWAITS FOR")
	}
	for _, unit := range units {
		r, err := state.Record(u.reader, unit.Tip)
		if err != nil {
			return fmt.Errorf("%s: %w", unit.ID, err)
		}
		if r.State == uow.Archived && !all {
			continue
		}
		if asJSON {
			if err := diag.WriteJSON(env.Stdout, r); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d of %d\t%s\t%s\t%s\n", r.ID, r.State, r.Iteration, r.Budget.Left().Iterations, r.Budget.Total.Iterations, r.Time, r.ReasonCode, r.Waits())
	}
	return w.Flush()
}

func uowShow(ctx context.Context, env *cli.Env) error {
	const usage = "uow show [--json] UNIT"
	var asJSON bool
	args, err := env.Flags("uow show", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one record a line, oldest first")
	})
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return env.Usage(usage, "show takes one unit, such as D-1.1")
	}
	id, err := uow.ParseID(args[0])
	if err != nil {
		return env.Usage(usage, "%v", err)
	}
	u, err := openUnits(ctx, env, "")
	if err != nil {
		return err
	}
	defer u.close()
	j, err := u.journal(id)
	if err != nil {
		return err
	}
	if j == nil {
		return diag.Hint(fmt.Errorf("there is no unit %s", id), "git ward uow list --all")
	}
	if asJSON {
		for _, r := range j.Records {
			if err := diag.WriteJSON(env.Stdout, r); err != nil {
				return err
			}
		}
		return nil
	}
	claims, err := state.Claims(u.reader, j.Tip, len(j.Records))
	if err != nil {
		return err
	}
	verdicts, err := state.VerdictsOf(u.reader, id, claims)
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Stdout, unitText(j.Records, verdicts))
	return nil
}

// unitText is a unit for people: where it stands, its budget, how its residual
// went, what the host said of its claims, and its journal.
func unitText(records []*uow.Record, verdicts []loop.Verdict) string {
	last := records[len(records)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", last.Line(), last.Budgets())
	if len(verdicts) > 0 {
		fmt.Fprintf(&b, "residual\n%s\n", loop.Plot(loop.History(verdicts), 30, 5))
	}
	for _, v := range verdicts {
		text := v.Words()
		for line := range strings.Lines(text) {
			b.WriteString(diag.Clean(strings.TrimRight(line, "\n")) + "\n")
		}
	}
	if len(verdicts) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(uow.History(records))
	return strings.TrimRight(b.String(), "\n")
}
