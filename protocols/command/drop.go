package command

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/review"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// dropping are the options of `git ward drop`.
type dropping struct {
	options options
	why     string
}

// dropDone is what `git ward drop --json` prints.
type dropDone struct {
	SchemaVersion string   `json:"schema_version"`
	Directive     string   `json:"directive"`
	Already       bool     `json:"already"` // nothing was left to do
	Reported      bool     `json:"reported"`
	Ended         []string `json:"ended"`  // units that this ended
	Commit        string   `json:"commit"` // what the branch stood at, which this deleted; "" for none
	Record        string   `json:"record"` // the ref that keeps what was claimed, "" for none
}

// Drop is `git ward drop` (REC-3): a report closes the directive as it stands, its units are
// ended, its branch is deleted. Each step is skipped if already done, so a drop that was cut
// short can be repeated. The report comes first: after it, the agent does not take up the
// directive again.
var Drop = cli.Command{Name: "drop", Doc: "close a directive without taking its work", Run: dropWork,
	Long:     "A report says that it was dropped, its unit ends and its branch goes; what was claimed stays on the record.",
	Examples: []cli.Example{{Line: `drop -m "solved otherwise" D-1`, Doc: "close it, with the reason"}}}

func dropWork(ctx context.Context, env *cli.Env) error {
	const usage = "drop [-m TEXT] [--json] [--bare DIR] [--config FILE] D-n"
	var d dropping
	args, err := env.Flags("drop", usage, func(fs *flag.FlagSet) {
		d.options.flags(fs)
		fs.StringVar(&d.why, "m", "", "why, in words: a `text` for the report")
	})
	if err != nil {
		return err
	}
	name, err := oneDirective(env, usage, "drop", args)
	if err != nil {
		return err
	}
	u, err := openDirectives(ctx, env, d.options, name)
	if err != nil {
		return err
	}
	defer u.close()
	return said(d.drop(u, name))
}

func (d *dropping) drop(u *units, name string) error {
	p, err := u.standing(subject{name: name})
	if err != nil {
		return err
	}
	if s := review.Stand(p); s.State == review.Taken {
		return refused(u.env, "to take it back: git revert -m 1 "+s.TakenBy+" (without -m 1, where that is no merge), then git push", "%s was taken, by %s", name, diag.Short(s.TakenBy))
	}
	done := dropDone{SchemaVersion: review.SchemaVersion, Directive: name, Ended: []string{}}
	branch := "agent/" + name
	if done.Commit, err = u.hostTip("refs/heads/" + branch); err != nil {
		return err
	}
	if p.Directive != nil && !p.Dropped {
		if done.Reported, err = d.report(u, name, done.Commit); err != nil {
			return refused(u.env, "nothing was changed; the host's message is above", "%v", err)
		}
	}
	if err := u.endUnits(&done, name); err != nil {
		return err
	}
	if done.Commit != "" {
		if done.Commit, err = u.deleteBranch(branch, done.Commit); err != nil {
			return err
		}
	}
	done.Already = !done.Reported && len(done.Ended) == 0 && done.Commit == ""
	if d.options.json {
		return diag.WriteJSON(u.env.Stdout, done)
	}
	return done.print(u, p)
}

// report appends the report that closes the directive, unless somebody did so before.
func (d *dropping) report(u *units, name, commit string) (bool, error) {
	commit = cmp.Or(commit, "-")
	text := "The PM wants no more of it."
	if d.why != "" {
		text = d.why
	}
	made, err := u.amend(func() string { return name + ": dropped" }, func(doc state.Comms) ([]byte, error) {
		now := doc.Directive(name)
		if now == nil || doc.Dropped(*now) {
			return nil, nil
		}
		amended, err := comms.Amend(doc.Data, comms.NewReport{Time: time.Now(), Directive: name, Status: comms.Done, Text: text, DirectiveHash: now.Hash(), Dropped: commit}, comms.Whole)
		return amended.Data, err
	})
	return made != "", err
}

// endUnits ends those units of a directive that are not ended.
func (u *units) endUnits(done *dropDone, name string) error {
	all, _, err := state.Units(u.reader)
	if err != nil {
		return err
	}
	for _, unit := range all {
		if unit.ID.Directive != name {
			continue
		}
		last, err := state.Record(u.reader, unit.Tip)
		if err != nil {
			return err
		}
		if last.Claim != nil {
			done.Record = "refs/ward/record/" + last.ID
		}
		if last.State.Ended() {
			continue
		}
		quiet := *u.env
		quiet.Stdout = u.env.Stderr
		loud := u.env
		u.env = &quiet
		err = u.step(unit.ID, uow.Input{Event: uow.Cancel, Actor: uow.PM, Reason: "NOT_NEEDED"})
		u.env = loud
		if err != nil {
			return err
		}
		done.Ended = append(done.Ended, last.ID)
	}
	return nil
}

// deleteBranch deletes a branch of the agent's, wherever it points by then, and returns its
// last commit.
func (u *units) deleteBranch(branch, tip string) (last string, err error) {
	last = tip
	err = git.Update(u.ctx, u.race(branch), func() (bool, error) {
		gone, _, err := u.publish(branch, last, "")
		if err != nil || gone {
			return gone, err
		}
		now, err := u.hostTip("refs/heads/" + branch)
		if now != "" {
			last = now
		}
		return now == "", err
	})
	return last, err
}

func (d *dropDone) print(u *units, p review.Position) error {
	out := u.env.Stdout
	title := ""
	if p.Directive != nil {
		title = " " + p.Directive.Title.String()
	}
	if d.Already {
		_, err := fmt.Fprintf(out, "%s%s was dropped already\n", d.Directive, title)
		return err
	}
	fmt.Fprintf(out, "dropped: %s%s\n", d.Directive, title)
	for _, unit := range d.Ended {
		fmt.Fprintf(out, "  %s is ended\n", unit)
	}
	if d.Commit != "" {
		kept := ""
		if d.Record != "" {
			kept = "; what it claimed is kept by " + d.Record
		}
		fmt.Fprintf(out, "  agent/%s is deleted, which was at %s%s\n", d.Directive, d.Commit, kept)
	}
	_, err := fmt.Fprintf(out, "an edit opens it again: git ward directive edit %s\n", d.Directive)
	return err
}
