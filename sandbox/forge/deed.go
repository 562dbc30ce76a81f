package forge

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/token"
	"git-ward/protocols/state"
	"git-ward/sandbox/forge/client"
)

// deed is one change: a call to the forge, or a command of a PM's here.
type deed struct {
	key string // the intent's key, equal for the same deed in each pass
	// family is the prefix of the keys that this deed replaces, "" for none.
	family string
	what   string // for people
	by     string // who asked for it, where that is to be known even without his comment
	// made checks whether the deed is already done. It gets the intent as of the first
	// attempt.
	made func(i intent) (bool, error)
	make func(i intent) error
	// done gives the refs' next values for that case.
	done func() ([]git.RefUpdate, error)
}

// errDry says that a dry run did not do something.
var errDry = errors.New("not done: a dry run")

// do does a deed exactly once, whenever this process is killed (FORGE-5).
func (p *pass) do(d deed) error {
	if p.Dry != nil {
		fmt.Fprintf(p.Dry, "would %s\n", diag.Clean(d.what))
		return errDry
	}
	ref := intentPrefix + d.key
	p.wanted[ref] = true
	i, old, err := load[intent](p, ref)
	if err != nil {
		return err
	}
	b := &book{ref: ref, old: old, record: &i}
	if old == git.Zero {
		audit, err := p.Repo.Ref(p.ctx, state.AuditRef)
		if err != nil {
			return err
		}
		i = intent{What: d.what, By: d.by, Push: token.NewID(time.Now()), Audit: audit}
		if err := p.keep(b); err != nil {
			return err
		}
	}
	failpoint.Reach("forge/intended")
	made, err := d.made(i)
	if err != nil {
		return err
	}
	failpoint.Reach("forge/looked")
	if !made {
		if i.By != d.by { // who began it did not do it, and may have lost the right since
			i.By = d.by
			if err := p.keep(b); err != nil {
				return err
			}
		}
		if err := d.make(i); err != nil {
			if _, refused := errors.AsType[*refusal](err); refused { // for instance what it did itself without getting an answer
				made, _ = d.made(i)
			}
			if !made {
				return errors.Join(err, p.forget(ref, b.old, err))
			}
		}
		failpoint.Reach("forge/made")
	}
	updates, err := d.done()
	if err != nil {
		return err
	}
	others, err := p.unfinished(d.family)
	if err != nil {
		return err
	}
	for _, t := range others {
		if t.Name != ref {
			updates = append(updates, git.RefUpdate{Ref: t.Name, Old: t.ID, New: git.Zero})
		}
	}
	err = p.move(append(updates, git.RefUpdate{Ref: ref, Old: b.old, New: git.Zero})...)
	failpoint.Reach("forge/noted")
	p.Log.Info().Str("did", diag.Clean(d.what)).Bool("before", made).Send()
	return err
}

// unfinished are a family's intents of an interrupted pass. Their deeds may have been done,
// whatever the records say.
func (p *pass) unfinished(family string) (list []git.Tip, err error) {
	if family == "" {
		return nil, nil
	}
	all, err := p.Repo.Refs(p.ctx, intentPrefix)
	for _, t := range all {
		if strings.HasPrefix(t.Name, intentPrefix+family) {
			list = append(list, t)
		}
	}
	return list, err
}

// begun reports whether an interrupted pass left an intent with that key.
func (p *pass) begun(key string) (bool, error) {
	tip, err := p.Repo.Ref(p.ctx, intentPrefix+key)
	return err == nil && tip != git.Zero, err
}

// sweep removes intents that a complete pass did not need: their reason has gone.
func (p *pass) sweep() error {
	if p.Dry != nil || len(p.word.Troubles) > 0 {
		return nil
	}
	all, err := p.Repo.Refs(p.ctx, intentPrefix)
	var updates []git.RefUpdate
	for _, t := range all {
		if !p.wanted[t.Name] {
			updates = append(updates, git.RefUpdate{Ref: t.Name, Old: t.ID, New: git.Zero})
		}
	}
	if err != nil || len(updates) == 0 {
		return err
	}
	return p.move(updates...)
}

// forget removes the intent of a refused call, which changed nothing. The intent of a call
// without an answer stays, because it may have taken effect.
func (p *pass) forget(ref, old string, err error) error {
	var later *client.ErrLater
	var answer *client.ErrAnswer
	if p.ctx.Err() != nil || errors.As(err, &later) || errors.As(err, &answer) || errors.Is(err, errUnknown) {
		return nil
	}
	return p.move(git.RefUpdate{Ref: ref, Old: old, New: git.Zero})
}

// maxPushes bounds how far back a push is looked for.
const maxPushes = 10_000

// entered reports whether the push of an intent came through the gate, and which commit it set
// the ref to.
func (p *pass) entered(i intent, ref string) (commit string, ok bool, err error) {
	reader := p.Repo.Reader(p.ctx) // the pass's own view lacks what came meanwhile
	defer reader.Close()
	at, err := reader.Tip(state.AuditRef)
	for range maxPushes {
		if err != nil || at == "" || at == i.Audit {
			return "", false, err
		}
		push, readErr := state.ReadPush(reader, at)
		if readErr != nil {
			return "", false, readErr
		}
		if push.ID == i.Push && push.Accepted() {
			for _, r := range push.Refs {
				if r.Ref == ref && r.Applied {
					return r.New, true, nil
				}
			}
		}
		at, err = reader.Parent(at)
	}
	return "", false, fmt.Errorf("more than %d pushes since", maxPushes)
}
