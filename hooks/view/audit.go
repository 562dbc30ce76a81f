package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/pattern"
	"git-ward/protocols/state"
)

// The limits of a page of the audit: the pushes that it shows, and the records that one request scans.
const (
	MaxPushes  = 100
	maxScanned = 5_000
)

// Filter selects pushes. All set fields must match; "" matches any.
type Filter struct {
	Who       string // a principal, or a name that the transport proved
	Verdict   string // accepted, refused, lost, broken
	Ref       string // a part of a ref's name
	Rule      string // a part of a rule's id
	Directive string // D-1: its branches, units and records
	After     int64  // pushes before this number; 0 for the newest
}

// AuditPage is a list of pushes, newest first.
type AuditPage struct {
	SchemaVersion string `json:"schema_version"`
	Version       string `json:"version"`
	Total         int64  `json:"total"`   // pushes in the audit
	Missing       bool   `json:"missing"` // this clone has not fetched the audit
	Pushes        []Push `json:"pushes"`
	Next          int64  `json:"next"` // Filter.After of the next page; 0 if this is the last
}

// Push is one push, admitted or refused.
type Push struct {
	N         int64            `json:"n"`
	Time      time.Time        `json:"time"`
	Principal diag.Untrusted   `json:"principal"`        // pm, member, agent, unknown
	Name      diag.Untrusted   `json:"name"`             // as authenticated by the transport
	Worker    string           `json:"worker,omitempty"` // the directive whose lease the agent pushed under
	Verdict   string           `json:"verdict"`
	Refs      []Move           `json:"refs"`
	LeftOut   int              `json:"refs_omitted"`
	Rules     []diag.Untrusted `json:"rules"`
	Allowed   []diag.Untrusted `json:"allowed"` // RULE:PATH that the PM allowed
	Would     []diag.Untrusted `json:"would"`   // rules that would have refused it if the gate enforced
	Repeats   int              `json:"repeats"` // identical refusals after it
	Commit    string           `json:"commit"`  // of the audit ref
}

// Move is one ref update of a push. Old is "" for a created ref, New for a deleted one.
type Move struct {
	Ref     diag.Untrusted `json:"ref"`
	Old     string         `json:"old"`
	New     string         `json:"new"`
	Applied bool           `json:"applied"`
}

// Audit returns a page of the audit.
func (s *Source) Audit(ctx context.Context, f Filter) (*AuditPage, error) {
	version, err := s.Version(ctx)
	if err != nil {
		return nil, err
	}
	page := &AuditPage{SchemaVersion: SchemaVersion, Version: version, Pushes: []Push{}}
	tip, err := s.repo.Ref(ctx, state.AuditRef)
	if err != nil {
		return nil, err
	}
	if tip == git.Zero {
		page.Missing = true
		return page, nil
	}
	out, err := s.repo.Output(ctx, "rev-list", "--first-parent", "--reverse", tip)
	if err != nil {
		return nil, err
	}
	commits := strings.Fields(string(out))
	page.Total = int64(len(commits))
	begin := len(commits)
	if f.After > 0 && f.After <= page.Total {
		begin = int(f.After) - 1
	}
	return page, s.scan(ctx, page, commits, begin, f)
}

// scan fills a page from commits, the audit's in the order oldest first, starting before index begin.
func (s *Source) scan(ctx context.Context, page *AuditPage, commits []string, begin int, f Filter) error {
	batch := s.repo.Batch(ctx)
	defer func() { batch.Close() }()
	repeats := 0 // of the current record; its successor has the count
	if begin == len(commits) {
		repeats = audit.Repeats(s.repo, page.Total) // in a clone this is 0, because the host's file is not there
	} else if next, err := audit.Read(batch, commits[begin]); err == nil {
		repeats = next.Repeats
	}
	for i, commit := range slices.Backward(commits[:begin]) {
		record, err := audit.Read(batch, commit)
		if err != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			batch.Close() // its child process may have ended at a damaged object
			batch = s.repo.Batch(ctx)
			record = &audit.Record{ID: int64(i + 1), Verdict: audit.Broken}
		}
		push := pushOf(record, repeats, commit)
		repeats = record.Repeats
		if f.takes(push) {
			page.Pushes = append(page.Pushes, push)
		}
		if scanned := begin - i; (len(page.Pushes) == MaxPushes || scanned == maxScanned) && i > 0 {
			page.Next = int64(i + 1)
			return nil
		}
	}
	return nil
}

// pushOf converts a record of the audit.
func pushOf(r *audit.Record, repeats int, commit string) Push {
	p := Push{N: r.ID, Time: r.Time, Principal: diag.Untrusted(r.Principal), Name: diag.Untrusted(r.Name), Verdict: string(r.Verdict), Refs: []Move{},
		Rules: untrusted(r.Rules), Allowed: untrusted(r.Allowed), Would: untrusted(r.Would), Repeats: repeats, Commit: commit, Worker: r.Worker()}
	for _, ref := range r.Refs {
		p.Refs = append(p.Refs, Move{diag.Untrusted(ref.Ref), object(ref.Old), object(ref.New), ref.Applied})
	}
	if r.Omitted != nil {
		p.LeftOut = r.Omitted.Refs
	}
	return p
}

// Who returns the principal and the name, or agent:D-3 for a worker. The text is not cleaned.
func (p Push) Who() string {
	if p.Worker != "" {
		return p.Principal.Raw() + ":" + p.Worker
	}
	return strings.TrimSpace(p.Principal.Raw() + " " + p.Name.Raw())
}

// object returns id, or "" for the zero id.
func object(id string) string {
	if id == git.Zero {
		return ""
	}
	return id
}

func untrusted(list []string) []diag.Untrusted {
	out := []diag.Untrusted{}
	for _, s := range list {
		out = append(out, diag.Untrusted(s))
	}
	return out
}

// takes reports whether a push matches the filter.
func (f Filter) takes(p Push) bool {
	named := func(part string) func(Move) bool {
		return func(m Move) bool { return strings.Contains(m.Ref.Raw(), part) }
	}
	ruled := func(rule diag.Untrusted) bool { return strings.Contains(rule.Raw(), f.Rule) }
	switch {
	case f.Who != "" && f.Who != p.Principal.Raw() && f.Who != p.Name.Raw() && f.Who != p.Who(),
		f.Verdict != "" && f.Verdict != p.Verdict,
		f.Ref != "" && !slices.ContainsFunc(p.Refs, named(f.Ref)),
		f.Rule != "" && !slices.ContainsFunc(slices.Concat(p.Rules, p.Allowed, p.Would), ruled),
		f.Directive != "" && !slices.ContainsFunc(p.Refs, func(m Move) bool { return directiveOf(m.Ref.Raw()) == f.Directive }):
		return false
	}
	return true
}

// ofDirective matches the refs of a directive: its branch, and its units' journals, records and leases.
var ofDirective = pattern.New(`^(?:refs/heads/agent/|refs/ward/(?:uow|record|lease)/)(D-[1-9][0-9]{0,8})(?:$|[./-])`)

func directiveOf(ref string) string {
	if m := ofDirective.FindStringSubmatch(ref); m != nil {
		return m[1]
	}
	return ""
}
