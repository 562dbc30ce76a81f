package fold

import (
	"context"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
	"git-ward/sandbox/door"
)

// batch is the content of one push: one commit with any number of messages.
type batch struct {
	commit string
	n      int              // messages that are added to the document
	done   []record.Pending // those, and those that need not be added
	left   map[uow.ID]error // why a unit's next message, and those after it, wait
}

// batch makes a commit, in a repository of its own, that adds each missing message to
// control's document.
func (f *Fold) batch(ctx context.Context, repo *git.Repo, tip string, list []record.Pending, instead *refusal) (b batch, err error) {
	objects := repo.Batch(ctx)
	defer objects.Close()
	_, data, err := objects.Read(tip+":"+comms.Path, comms.MaxBytes)
	if err != nil {
		return b, diag.Hint(fmt.Errorf("%s of %s cannot be read: %w", comms.Path, diag.Short(tip), err), "`git ward lint` says what is wrong with it")
	}
	doc, found := comms.Parse(data)
	if diag.HasErrors(found) {
		return b, diag.Hint(fmt.Errorf("%s of %s has errors, and takes no reports", comms.Path, diag.Short(tip)), "mend it and push; `git ward lint` says where")
	}
	folding := record.NewFolding(data, doc)
	b.left = folding.Waits
	var subjects []string
	for _, p := range list {
		if instead != nil {
			if p.Message, err = refused(p, instead); err != nil {
				return b, err
			}
		}
		done, entered := folding.Take(p)
		if done {
			b.done = append(b.done, p)
		}
		if entered {
			subjects = append(subjects, subject(p.Message))
		}
	}
	if b.n = len(subjects); b.n == 0 {
		return b, nil
	}
	message := "comms: " + subjects[0]
	if b.n > 1 {
		message = fmt.Sprintf("comms: %d messages\n\n%s", b.n, strings.Join(subjects, "\n"))
	}
	if len(folding.Removed) > 0 {
		message += "\n\n" + comms.PruneTrailers(folding.Removed)
	}
	b.commit, err = objects.Commit(record.AgentIdent, tip, map[string][]byte{comms.Path: folding.Data}, time.Now(), message)
	return b, err
}

// subject describes a message in the commit's subject.
func subject(m comms.Message) string {
	if m.Kind == comms.KindQuestion {
		return "question on " + m.Directive
	}
	return fmt.Sprintf("report %s %s", m.Directive, m.Status)
}

// refused is the entry for a message that the gate refuses. It has none of the message's text.
func refused(p record.Pending, why *refusal) (comms.Message, error) {
	what := string(p.Message.Kind)
	if s := p.Message.Status; s != "" {
		what += " " + string(s)
	}
	text := fmt.Sprintf("A %s of %s is left out, because the gate refused it for %s: %s.\n\n`git ward log --refused` on the host says more.",
		what, p.Unit, strings.Join(why.rules, ", "), p.Name())
	return comms.NewReport{Time: p.Message.When(), Directive: p.Unit.Directive, Status: comms.Info, Text: text}.Message()
}

// send pushes a commit to a branch as the agent of record.FoldName. A refusal by the gate is a
// *refusal; any other error is trouble on the way.
func (f *Fold) send(ctx context.Context, repo *git.Repo, commit, ref string) error {
	repo.Limits = f.Settings.ReceiveLimits()
	refused, err := door.Enter(ctx, repo, f.Repo.Dir, f.Settings.Door.Time.Duration, "agent", record.FoldName, commit, ref)
	if refused != nil {
		return &refusal{refused.Rules(), err}
	}
	return err
}

// refusal is the gate's refusal of a push.
type refusal struct {
	rules []string
	err   error
}

func (r *refusal) Error() string { return "refused for " + strings.Join(r.rules, ", ") }
func (r *refusal) Unwrap() error { return r.err }
