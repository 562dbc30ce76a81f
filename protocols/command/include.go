package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Include is `git ward include` (PROOF-1): a commit of the PM's on a directive, which takes
// in what its last verdict left out, by path and blob.
var Include = cli.Command{Name: "include", Doc: "give your word on what a verdict wants it for, and have the same commit judged again", Run: includeWork,
	Long: "What a claim has otherwise than the project, and what is no work by the directive, is left out of the run that decides. This says of it that it is work: of all that the last verdict left out, or of the paths that are named. Each line names the blob, so that another one there needs another word. Of a verdict that holds it takes in the changed files by which a command checks the work: they speak against it until you have read them. Where every criterion held before the work, nothing proves it: a test among these files that fails without the work does, else --guards says that such criteria are enough.",
	Examples: []cli.Example{{Line: `include D-1`, Doc: "all that was left out"}, {Line: `include D-1 go.mod go.sum`, Doc: "two of it"},
		{Line: `include --guards D-1`, Doc: "criteria that held before the work are enough"}}}

func includeWork(ctx context.Context, env *cli.Env) error {
	const usage = "include [--bare DIR] [--config FILE] [--guards] D-n [PATH...]"
	var o options
	var guards bool
	args, err := env.Flags("include", usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &o.bare)
		cli.Config(fs, &o.config)
		fs.BoolVar(&guards, "guards", false, "criteria that held before the work are enough")
	})
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return env.Usage(usage, "include takes one directive, such as D-1, and perhaps paths")
	}
	of, err := parseSubject(args[0])
	if err != nil {
		return env.Usage(usage, "%v", err)
	}
	u, err := openDirectives(ctx, env, o, of.name)
	if err != nil {
		return err
	}
	defer u.close()
	return said(u.lacking(u.include(of, args[1:], guards)))
}

// include takes in paths of the last verdict (all if none is named), or says that guards are
// enough, and lets a waiting unit continue. If the verdict left nothing out and has only
// guards, the one possible word is that guards are enough; if nothing was changed, that no
// change was needed.
func (u *units) include(of subject, paths []string, guards bool) error {
	p, err := u.standing(of)
	if err != nil {
		return err
	}
	again := "git ward review " + of.name
	switch v := p.Verdict; {
	case p.Directive == nil:
		return refused(u.env, "git ward directive show", "COMMS.md has no %s", of.name)
	case v != nil && (guards || len(v.Left) == 0 && len(paths) == 0 && v.OnlyGuards):
		guards = true
	case v == nil || len(v.Includable()) == 0:
		return refused(u.env, again, "no verdict on %s left anything out, so there is nothing to include", of.name)
	}
	word := comms.Inclusion{Directive: of.name, Guards: guards}
	if guards && p.Verdict != nil && p.Verdict.Unchanged {
		word.Guards, word.MayHold = false, true
	}
	if !guards || len(paths) > 0 {
		if word.Paths, err = wanted(u, p.Verdict, paths, again); err != nil {
			return err
		}
	}
	says := diag.Count(len(word.Paths), "path")
	switch {
	case word.MayHold:
		says = "a claim that changes nothing"
	case guards:
		says = "criteria that held before the work"
	}
	subject := fmt.Sprintf("%s: include %s", of.name, says)
	how, err := u.say(of.name, subject, word, func(d *comms.Directive) (bool, error) {
		if d == nil || d.Hash() != p.Verdict.DirectiveHash {
			return false, refused(u.env, again, "%s has another text by now than the verdict is for", of.name)
		}
		return word.Said(d), nil // by an earlier push
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(u.env.Stdout, "%s includes %s: %s\n", of.name, says, how)
	for _, i := range word.Paths {
		fmt.Fprintf(u.env.Stdout, "  %s\n", diag.Clean(i.Path))
	}
	return u.judgeAgain(p.Unit)
}

// say appends the PM's word on a directive to COMMS.md, unless said finds it there. It returns
// the outcome in words.
func (u *units) say(name, subject string, word comms.Change, said func(d *comms.Directive) (bool, error)) (how string, err error) {
	commit, err := u.amend(func() string { return subject }, func(doc state.Comms) ([]byte, error) {
		if there, err := said(doc.Directive(name)); there || err != nil {
			return nil, err
		}
		amended, err := comms.Amend(doc.Data, word, comms.Whole)
		if err == nil && diag.HasErrors(amended.Found) {
			diag.WriteText(u.env.Stderr, amended.Found)
			err = refused(u.env, "git ward directive edit "+name, "it cannot be added to COMMS.md")
		}
		return amended.Data, err
	})
	switch {
	case errors.Is(err, errNotTaken):
		return "", refused(u.env, "nothing was changed; the host's message is above", "%v", err)
	case err != nil:
		return "", err
	case commit == "":
		return "it said so already", nil
	}
	return "pushed to " + u.names.Branch + " as " + diag.Short(commit), nil
}

// wanted are the paths to include, with their blobs in the claim.
func wanted(u *units, v *loop.Verdict, paths []string, again string) (list []comms.Included, err error) {
	missing, all, more := slices.Clone(paths), v.Includable(), v.LeftMore+v.CheckersMore
	if len(paths) == 0 && len(v.Checkers) > 0 && !v.WantsWord() { // it holds without what it left out
		all, more = v.Checkers, v.CheckersMore
	}
	for _, l := range all {
		i, err := l.Include()
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 || slices.Contains(paths, i.Path) {
			list = append(list, i)
			missing = slices.DeleteFunc(missing, func(p string) bool { return p == i.Path })
		}
	}
	switch {
	case len(missing) > 0:
		return nil, refused(u.env, again, "%s was not left out, and the verdict names it as no checker", diag.Clean(missing[0]))
	case len(paths) == 0 && more > 0:
		return nil, refused(u.env, "say by lines - work: of the directive which of them are work", "the verdict has %d paths more than it lists", more)
	}
	return list, nil
}

// judgeAgain lets the unit that waits for the word continue: its claim is judged again, and no
// iteration is spent.
func (u *units) judgeAgain(r *uow.Record) error {
	if r == nil || r.State != uow.PendingApproval || r.ReasonCode != uow.NotIncluded {
		return nil
	}
	id, err := uow.ParseID(r.ID)
	if err != nil {
		return err
	}
	return u.step(id, uow.Input{Event: uow.Approve, Actor: uow.PM, Reason: uow.IncludedNow})
}
