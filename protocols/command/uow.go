package command

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// UOW is `git ward uow`: the PM's view of the units of work, and the PM's verbs
// (UOW-4). It runs in a clone, or in the bare repository.
var UOW = cli.Command{Name: "uow", Doc: "show the units of work; approve, pause, clarify, cancel them",
	Title: "each verb takes a unit, and perhaps --reason CODE and -m TEXT",
	Verbs: append([]cli.Command{
		{Name: "show", Doc: "show a unit's journal, budget, residuals and verdicts, or what all units wait for", Run: uowShow, Ways: []cli.Way{{Run: uowList}},
			Examples: []cli.Example{{Line: `uow show`, Doc: "the units that are not archived"}, {Line: `uow show D-1.1`, Doc: "the first unit of D-1"}}},
	}, steps()...)}

// steps are the PM's verbs as commands.
func steps() (list []cli.Command) {
	for _, v := range uowVerbs {
		var ways []cli.Way
		if w, ok := beside[v.event]; ok {
			_, name, _ := strings.Cut(w.event.Typed(), "--")
			ways = []cli.Way{{Switch: name, Doc: w.doc, Run: w.run}}
		}
		list = append(list, cli.Command{Name: v.name, Doc: v.doc, Run: v.run, Ways: ways,
			Examples: []cli.Example{{Line: "uow " + v.name + ` D-1.1 -m "as agreed"`, Doc: "with words that the agent reads"}}})
	}
	return list
}

// verb is one of the PM's steps.
type verb struct {
	name  string
	doc   string
	event uow.Event
}

var uowVerbs = []verb{
	{"approve", "answer a unit that asked, which then continues; --reject: end it", uow.Approve},
	{"clarify", "tell a unit what it did not know (-m); a waiting one continues", uow.Clarify},
	{"retry", "try a blocked unit again, within its retries; --waive: beyond them", uow.Retry},
	{"pause", "stop a unit; --all: every one", uow.Pause},
	{"resume", "resume a paused unit; --pulse: give the sign of life that the policy requires", uow.Resume},
	{"cancel", "end a unit; --failed: confirm that an ended one has failed", uow.Cancel},
	{"fork", "open the next unit of a directive whose text is the same", uow.Fork},
	{"archive", "archive an ended unit; --expire: delete an archived one's record", uow.Archive},
}

// beside are steps that a flag of another step's verb selects.
var beside = map[uow.Event]verb{
	uow.Approve: {uow.Reject.Typed(), "end a unit that asked", uow.Reject},
	uow.Retry:   {uow.Waive.Typed(), "try it again beyond its retries, or with --deny give it up", uow.Waive},
	uow.Resume:  {uow.Heartbeat.Typed(), "give the sign of life that the policy requires", uow.Heartbeat},
	uow.Cancel:  {uow.Confirm.Typed(), "confirm that a unit has failed that was given up, or whose journal was changed", uow.Confirm},
}

// arguments are a step's own arguments in its usage line.
func arguments(e uow.Event) string {
	switch e {
	case uow.Waive:
		return "[--deny] UNIT"
	case uow.Archive:
		return "[--expire] UNIT"
	case uow.Fork:
		return "[--fresh] UNIT"
	case uow.Pause:
		return "UNIT|--all"
	}
	return "UNIT"
}

// run is the verb as a command.
func (v verb) run(ctx context.Context, env *cli.Env) error {
	var reason, note, bare, configFile string
	var deny, all, expire, fresh bool
	usage := "uow " + v.name + " [--reason CODE] [-m TEXT] [--bare DIR] [--config FILE] " + arguments(v.event)
	args, err := env.Flags("uow "+v.name, usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.StringVar(&reason, "reason", "", "why, as a `CODE`, the first by itself: "+codes(v.event))
		fs.StringVar(&note, "m", "", "why, in words: a `text` that the agent reads")
		cli.Config(fs, &configFile)
		if v.event == uow.Waive {
			fs.BoolVar(&deny, "deny", false, "refuse the retry: the unit is given up (codes: "+codes(uow.Deny)+")")
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
	if note == "TEXT" { // the command that waits was pasted as it is shown
		return env.Usage(usage, "put your own words in the place of TEXT")
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
	u, err := openUnits(ctx, env, bare, configFile)
	if err != nil {
		return err
	}
	defer u.close()
	in := uow.Input{Event: v.event, Actor: uow.PM, Reason: uow.Reason(reason), Note: note}
	if all {
		return u.pauseAll(in)
	}
	if lease.IsDirective(args[0]) {
		return u.unitOf(args[0], v.name)
	}
	id, err := uow.ParseID(args[0])
	if err != nil {
		return env.Usage(usage, "%v", err)
	}
	if expire {
		return u.expire(id, in)
	}
	if note == "" {
		return u.answered(id, in)
	}
	return u.step(id, in)
}

// unitOf is the error for a directive in a unit's place: it names the unit that is meant.
func (u *units) unitOf(directive, verb string) error {
	newest, err := state.Newest(u.reader, directive, 0)
	if err != nil {
		return err
	}
	err = fmt.Errorf("%s is a directive, and git ward uow %s takes one unit of it", directive, verb)
	if newest == nil {
		return diag.Hint(err, "it has no unit yet: nobody has begun it")
	}
	return diag.Hint(err, "its newest unit: git ward uow %s %s", verb, newest.ID)
}

func codes(e uow.Event) string {
	var list []string
	for _, c := range uow.Reasons(e, uow.PM) {
		list = append(list, string(c))
	}
	return strings.Join(list, ", ")
}

// step takes the verb's steps and pushes them, with other refs. After a lost race it starts
// again on the new tip, which push has fetched.
func (u *units) step(id uow.ID, in uow.Input, drop ...dropped) error {
	return git.Update(u.ctx, u.race("the unit"), func() (bool, error) {
		in.Time = time.Now()
		way, err := u.way(id, in)
		if err != nil {
			return false, err
		}
		parent := way.from
		for _, next := range way.steps {
			if parent, err = u.commit(parent, next, in.Time); err != nil {
				return false, err
			}
		}
		moved, err := u.push(parent, way.unit, way.from, drop...)
		if moved {
			last := way.steps[len(way.steps)-1]
			w, _ := u.waits(last) // the step is done, whatever fails now
			_, err = fmt.Fprintln(u.env.Stdout, last.Line(w))
			if err == nil && way.asked != "" && in.Note != "" {
				err = u.offer(id, way.asked, in.Note)
			}
		}
		return moved, err
	})
}

// commit writes a record's commit. If two people say the same in the same second their commits
// must differ, or one of two equal pushes would count for both.
func (u *units) commit(parent string, r *uow.Record, at time.Time) (string, error) {
	data, err := r.Marshal()
	if err != nil {
		return "", err
	}
	return u.repo.CommitFile(parent, uow.File, data, at, uow.Subject(r)+"\n\nWard-Verb: "+rand.Text())
}

// way is the list of records that a verb makes.
type way struct {
	unit  uow.ID
	from  string // the tip that they follow, "" for a new unit
	steps []*uow.Record
	asked string // the question that they answer, "" for none
}

// way makes the records of a verb, and says for which unit and on which tip.
func (u *units) way(id uow.ID, in uow.Input) (*way, error) {
	j, err := u.journal(id)
	if err != nil {
		return nil, err
	}
	if j == nil {
		return nil, diag.Hint(fmt.Errorf("there is no unit %s", id), "git ward uow show")
	}
	w := &way{unit: id, from: j.Tip}
	prev := j.Last()
	if asks(prev) && (in.Event == uow.Approve || in.Event == uow.Clarify) {
		w.asked = prev.Note
	}
	var world uow.World
	if world.Main, err = u.main(j); err != nil {
		return nil, err
	}
	if in.Event == uow.Fork {
		if err := u.forkable(id.Directive); err != nil {
			return nil, err
		}
		w.unit, world.Last, prev, w.from = uow.ID{Directive: id.Directive, K: id.K + 1}, prev, nil, ""
		if tip, err := u.reader.Tip(w.unit.Ref()); err != nil || tip != "" {
			return nil, errors.Join(err, diag.Hint(fmt.Errorf("%s exists already", w.unit), "fork the last unit of the directive"))
		}
		return w, u.take(w, prev, in, world)
	}
	path := uow.Path(in.Event, prev.State)
	for _, event := range path {
		step := in
		step.Event = event
		if len(path) > 1 {
			step.Reason = uow.PathReason(event, in.Reason)
		}
		if err := u.take(w, prev, step, world); err != nil {
			return nil, err
		}
		prev = w.steps[len(w.steps)-1]
	}
	return w, nil
}

// take makes the next record, or prints why there is none.
func (u *units) take(w *way, prev *uow.Record, in uow.Input, world uow.World) error {
	next, found := uow.Advance(w.unit, prev, in, world)
	if len(found) > 0 {
		diag.WriteText(u.env.Stdout, found)
		return cli.ErrFindings
	}
	w.steps = append(w.steps, next)
	return nil
}

// forkable is the error for a directive on which nobody would work again as it is.
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

// pauseAll pauses every active unit and reports each; a failure for one does not keep the
// others running.
func (u *units) pauseAll(in uow.Input) error {
	all, _, err := state.Units(u.reader)
	if err != nil {
		return err
	}
	paused := 0
	var failed error
	for _, unit := range all {
		j, err := u.journal(unit.ID)
		if err == nil && !slices.Contains(j.Last().Possible(), uow.Pause) {
			continue
		}
		if err == nil {
			err = u.step(unit.ID, in)
		}
		if err == nil {
			paused++
		}
		failed = errors.Join(failed, err)
	}
	_, err = fmt.Fprintf(u.env.Stdout, "%s paused\n", diag.Count(paused, "unit"))
	return errors.Join(err, failed)
}
