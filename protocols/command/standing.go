package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/lease"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
	"git-ward/protocols/standing"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// subject is a directive, and the unit of it that is asked about.
type subject struct {
	name string // D-1
	unit int    // 0: the newest
}

// oneDirective parses a verb's argument that must be a directive, not a unit.
func oneDirective(env *cli.Env, usage, verb string, args []string) (string, error) {
	if len(args) != 1 || !lease.IsDirective(args[0]) {
		return "", env.Usage(usage, "%s takes one directive, such as D-1", verb)
	}
	return args[0], nil
}

// parseSubject reads D-1 or D-1.2.
func parseSubject(arg string) (subject, error) {
	if lease.IsDirective(arg) {
		return subject{name: arg}, nil
	}
	id, err := uow.ParseID(arg)
	if err != nil {
		return subject{}, fmt.Errorf("%.40q is neither a directive, such as D-1, nor a unit of one, such as D-1.1", arg)
	}
	return subject{id.Directive, id.K}, nil
}

// openDirectives is openUnits for commands that look at the work itself. A clone fetches also the
// branches and records of the directive ("D-1", or "D-*"), and further refspecs.
func openDirectives(ctx context.Context, env *cli.Env, o options, directive string, more ...string) (*units, error) {
	return openDirectivesAs(ctx, env, o, false, directive, more...)
}

// openDirectivesAs is openDirectives; with fetched, a clone is read as it was last fetched.
func openDirectivesAs(ctx context.Context, env *cli.Env, o options, fetched bool, directive string, more ...string) (*units, error) {
	at := *env
	if o.config != "" {
		o.config = env.Path(o.config)
	}
	if o.bare != "" {
		at.Dir = env.Path(o.bare)
	}
	repo, err := env.Repository(ctx, o.bare)
	if err != nil {
		return nil, err
	}
	branch, units := "refs/heads/agent/"+directive+"*", record.Prefix+directive+".*"
	if strings.HasSuffix(directive, "*") {
		branch, units = "refs/heads/agent/*", ""
	}
	also := []string{"+" + branch + ":" + strings.Replace(branch, "refs/heads/", "refs/remotes/origin/", 1)}
	if units != "" {
		also = append(also, units+":"+units)
	}
	u, err := openRepo(ctx, &at, repo, o.config, fetched, append(also, more...)...)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(u.repo.Dir, "shallow")); err == nil { // a shallow clone would show the project's commits as the work's
		u.close()
		return nil, diag.Hint(errors.New("this is a shallow clone, which cannot tell work from the project"), "git fetch --unshallow origin")
	}
	return u, nil
}

// refused ends a command with exit 1, its reason and a remedy.
func refused(env *cli.Env, hint, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if hint != "" {
		err = diag.Hint(err, "%s", hint)
	}
	cli.Report(env.Stderr, cmp.Or(env.Program, "git-ward"), err)
	return cli.ErrFindings
}

// documents is COMMS.md of the control branch.
func (u *units) documents() (state.Comms, error) {
	return standing.Documents(u.reader, u.names.ControlRef())
}

// snapshot reads the state of all directives.
func (u *units) snapshot() (*standing.Snapshot, error) {
	return standing.Open(u.reader, standing.Refs{Control: u.names.ControlRef(), Project: u.names.ProjectRef(), Work: u.names.Base() + "agent/"}, nil)
}

// errUnknown is for a directive or unit that does not exist.
var errUnknown = errors.New("unknown")

// openAll reads what is the same for several subjects, and asks history once about all of them.
func (u *units) openAll(list []subject) (err error) {
	all, err := u.snapshot()
	if err != nil {
		return err
	}
	var commits []string
	for _, of := range list {
		if p, err := all.Position(of.name, of.unit); err == nil && standing.Asked(p) != "" { // an error is said with its subject
			commits = append(commits, standing.Asked(p))
		}
	}
	project, err := u.reader.Tip(u.names.ProjectRef())
	if err != nil {
		return err
	}
	past, err := u.reader.Lineage(project, commits, standing.Taken)
	if err != nil {
		return err
	}
	u.several = &several{all: all, project: project, past: past}
	for _, commit := range commits {
		if has, err := past.Contains(project, commit); !has && err == nil {
			u.several.open = append(u.several.open, commit)
		}
	}
	return nil
}

// standing finds out where the subject stands. errUnknown is said already.
func (u *units) standing(of subject) (p review.Position, err error) {
	var all *standing.Snapshot
	if u.several != nil {
		all = u.several.all
	} else if all, err = u.snapshot(); err != nil {
		return p, err
	}
	if p, err = all.Position(of.name, of.unit); err != nil {
		return p, err
	}
	switch {
	case !standing.Known(p):
		return p, errors.Join(errUnknown, refused(u.env, "git ward directive show", "there is no directive %s", of.name))
	case of.unit > 0 && p.Unit == nil:
		return p, errors.Join(errUnknown, refused(u.env, "git ward uow show --all", "there is no unit %s.%d", of.name, of.unit))
	}
	if err := u.taken(&p); err != nil {
		return p, err
	}
	p.Taken, err = u.mergeOf(p.Taken)
	return p, err
}

// taken fills in the project's commit that has the work.
func (u *units) taken(p *review.Position) error {
	project, err := u.reader.Tip(u.names.ProjectRef())
	if err == nil {
		var past state.Ancestry = u.reader
		if u.several != nil {
			past = u.several.past
		}
		p.Taken, err = state.Taken(past, project, standing.Asked(*p))
	}
	return err
}

// waits says whom a unit at this record waits for. With an error the answer rests on the
// journal alone.
func (u *units) waits(r *uow.Record) (w uow.Waiting, err error) {
	if r.State == uow.Archived {
		return r.Waits(), nil
	}
	if u.at == nil {
		if u.at, err = u.snapshot(); err != nil {
			return r.Waits(), err
		}
	}
	p, err := u.at.Position(r.Directive, 0)
	if err != nil {
		return r.Waits(), err
	}
	if p.Unit != nil && p.Unit.ID == r.ID {
		p.Unit = r
	}
	if err := u.taken(&p); err != nil {
		return r.Waits(), err
	}
	return review.Stand(p).WaitsOf(r), nil
}

// mergeOf is the project's own commit, of those that a person sees in its history, that
// brought a commit.
func (u *units) mergeOf(commit string) (string, error) {
	if commit == "" {
		return "", nil
	}
	return u.reader.MergeOf(u.names.ProjectRef(), commit)
}
