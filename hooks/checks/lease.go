package checks

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

var leaseCheck = Check{
	Name: "lease",
	Doc: "Holds a worker to the directive whose lease it has (MANY-2): its journals, records and work branches, its reports, its evidence, and as long " +
		"as the lease is live only. What a lease protects from other workers it protects from an agent without one, too.",
	Rules: []string{"lease/lost", "lease/other", "lease/held"},
	Commit: func(pass *Pass, c *walk.Commit) {
		own := pass.Push.Lease.Directive
		if own == "" {
			return
		}
		for line := range strings.Lines(c.Message) {
			if other := attributed(line); other != "" && other != own {
				pass.Report(otherDirective(diag.Pos{Commit: c.ID}, c.Ref, own, "the commit says that it belongs to "+diag.Clean(other)))
				return
			}
		}
	},
	Path: func(pass *Pass, c *walk.Commit, change walk.Change) {
		own := pass.Push.Lease.Directive
		if own == "" || !c.History.Documents() {
			return
		}
		if e, ok := loop.ParseEvidencePath(change.Path); ok && e.Directive != own {
			pass.Report(otherDirective(at(c, change.Path), c.Ref, own, "this is evidence of "+diag.Clean(e.Directive)))
		}
	},
}

// otherDirective is the finding about what is not the worker's.
func otherDirective(pos diag.Pos, ref, own, message string) diag.Diagnostic {
	return diag.Diagnostic{Pos: pos, Ref: ref, Rule: "lease/other", Message: message + ", and the worker has the lease of " + own,
		Hint: "push what belongs to " + own + " only: its journals, records, branches agent/" + own + ", agent/" + own + "-NAME and rescue/" + own + "-NAME, and reports"}
}

// attributed is the directive in a commit message's trailer, "" for none.
func attributed(line string) string {
	key, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch key = strings.TrimSpace(key); {
	case !ok || value == "":
		return ""
	case strings.EqualFold(key, record.TrailerDirective):
		return value
	case strings.EqualFold(key, record.TrailerRecord):
		if id, err := record.ParseRef(value); err == nil {
			return id.Directive
		}
		return value
	}
	return ""
}

// Leased decides by the present leases which refs the agent may move. It runs before all other
// checks, so that no other worker's content is read, and again at the end, because a lease may
// be revoked or taken while a push is judged.
func (p *Push) Leased() (found []diag.Diagnostic, err error) {
	if p.Principal != push.Agent || p.Leases == nil {
		return nil, nil
	}
	if own := p.Lease.Directive; own != "" {
		standing, err := p.Leases(own)
		if err != nil {
			return nil, err
		}
		if why := standing.Lost(p.Lease.ID); why != "" {
			return []diag.Diagnostic{{Rule: "lease/lost", Message: "the worker has lost the lease of " + own + ": " + why,
				Hint: "end this worker; the host gives the directive to another (git ward lease)"}}, nil
		}
	}
	for _, u := range p.Updates {
		d, err := p.leasedRef(u)
		if err != nil {
			return nil, err
		}
		if d != nil {
			found = append(found, *d)
		}
	}
	return found, nil
}

// leasedRef judges one ref update of the agent's, nil for no finding. Content judges what
// enters control and the project's branch.
func (p *Push) leasedRef(u push.Update) (*diag.Diagnostic, error) {
	if p.isMain(u.Ref) {
		return nil, nil
	}
	of, own := directiveOf(u.Ref), p.Lease.Directive
	switch {
	case own == "":
		return p.heldByWorker(diag.Pos{}, u.Ref, of)
	case of == own:
		return nil, nil
	}
	d := otherDirective(diag.Pos{}, u.Ref, own, "this ref belongs to "+cmp.Or(of, "no directive of its own"))
	return &d, nil
}

// heldByWorker is the finding about a directive on which another worker has the lease; nil if
// nobody has, or the pusher has.
func (p *Push) heldByWorker(pos diag.Pos, ref, directive string) (*diag.Diagnostic, error) {
	if directive == "" || directive == p.Lease.Directive || p.Leases == nil || p.Principal != push.Agent {
		return nil, nil
	}
	standing, err := p.Leases(directive)
	if err != nil || !standing.Held() {
		return nil, err
	}
	l := standing.Lease
	message := fmt.Sprintf("a worker has the lease of %s until %s: %s", directive, l.Until.Format(time.RFC3339), l.Holder)
	if standing.Broken != nil {
		message = diag.Clean(standing.Broken.Error())
	}
	return &diag.Diagnostic{Pos: pos, Ref: ref, Rule: "lease/held", Message: message,
		Hint: "work on another directive, or let the host admin look: git ward lease, git ward lease --revoke " + directive}, nil
}

// directiveOf is the directive to which an agent's ref belongs: a journal, a record, a work
// branch (agent/D-3, agent/D-3-lessons) or a rescue branch (rescue/D-3-boot); "" for any other
// ref.
func directiveOf(ref string) string {
	for _, prefix := range []string{uow.RefPrefix, record.Prefix} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			id, err := uow.ParseID(name)
			if err != nil {
				return ""
			}
			return id.Directive
		}
	}
	name, ok := strings.CutPrefix(ref, "refs/heads/agent/")
	if !ok {
		name, ok = strings.CutPrefix(ref, "refs/heads/rescue/")
	}
	number, isD := strings.CutPrefix(name, "D-")
	if !ok || !isD {
		return ""
	}
	digits := len(number) - len(strings.TrimLeft(number, "0123456789"))
	if digits < len(number) && number[digits] != '-' && number[digits] != '/' {
		return ""
	}
	id, err := uow.ParseID(name[:len("D-")+digits] + ".1")
	if err != nil {
		return ""
	}
	return id.Directive
}

// leasedEntries checks the agent's changes of control's COMMS.md against its lease: a worker
// reports and asks only about its own directive, or nobody would know who speaks, and all
// would share one directive's space; and only the worker reports about a directive with a
// worker. The same applies to COMMS.md on the worker's own branches, which may be merged one
// day. The host's folds come from records, where the lease was checked.
func leasedEntries(pass *Pass, t *walk.Tip, old, new []byte) error {
	if pass.Push.Folds {
		return nil
	}
	own := pass.Push.Lease.Directive
	for _, e := range changedEntries(old, new) {
		pos := diag.Pos{Commit: t.New, Path: comms.Path, Line: e.line, Col: 1}
		if own != "" && e.directive != own {
			pass.Report(otherDirective(pos, t.Ref, own, fmt.Sprintf("%s is about %s", e.name, diag.Clean(e.directive))))
			continue
		}
		if !pass.Push.isControl(t.Ref) {
			continue
		}
		held, err := pass.Push.heldByWorker(pos, t.Ref, e.directive)
		if err != nil {
			return err
		}
		if held != nil && e.line > 0 {
			pass.Report(*held)
		}
	}
	return nil
}

// changedEntry is a report or question that is new or removed (line 0).
type changedEntry struct {
	name, directive string
	line            int
}

func changedEntries(old, new []byte) (changed []changedEntry) {
	before, _ := comms.Parse(old)
	after, _ := comms.Parse(new)
	was, is := entriesOf(before), entriesOf(after)
	for _, e := range is.list {
		if !was.names[e.name] {
			changed = append(changed, e)
		}
	}
	for _, e := range was.list {
		if !is.names[e.name] {
			e.line = 0
			changed = append(changed, e)
		}
	}
	return changed
}

type entries struct {
	list  []changedEntry
	names map[string]bool
}

func entriesOf(doc *comms.Document) entries {
	e := entries{names: map[string]bool{}}
	for _, r := range doc.Reports {
		e.list = append(e.list, changedEntry{r.Name(), r.Directive, r.Line})
	}
	for _, q := range doc.Questions {
		e.list = append(e.list, changedEntry{name: q.Name(), directive: q.Directive, line: q.Line})
	}
	for _, entry := range e.list {
		e.names[entry.name] = true
	}
	return e
}
