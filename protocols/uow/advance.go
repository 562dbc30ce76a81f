package uow

import (
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// Input is what the maker of a step states. Everything else in the record follows from it.
type Input struct {
	Event        Event
	Actor        Actor
	Reason       Reason
	Time         time.Time
	Note         string
	Interactions int64    // the agent's since the last record; an iteration or a claim counts at least one
	Commit       string   // the claimed commit
	Record       string   // the commit of the unit's record that goes with Commit
	Expired      *Expired // what an expiry deleted

	// keepRetries is set for journals of earlier versions, in which a claim did not reset the
	// retries. It gives their maker no advantage.
	keepRetries bool
}

// Main is the present state of main and of the host's settings. Every step that opens a unit or leads to
// ACTIVE copies it; iterations and claims require that the directive has not changed since.
type Main struct {
	DirectiveHash string // "" when main has no such directive
	Total         Counts
	Policy        Policy
	// Spent is what all units of this text of the directive spent before the step. It is read if
	// the step opens a unit or copies another text (see NeedsSpent).
	Spent Counts
}

// World is everything besides the previous record that a step is checked against. If Verdict is nil,
// that check is skipped.
type World struct {
	Main *Main
	// Last is the last record of the previous unit, nil for none.
	Last *Record
	// Verdict reports whether the host's verdict on a commit, for this unit and the directive's
	// text, is EXACT or CONVERGED.
	Verdict func(commit string) bool
	alone   bool // check the journal by itself; Main is copied from the record
}

// NeedsSpent reports whether the step after prev reads Main.Spent.
func NeedsSpent(prev *Record, m *Main) bool {
	return prev == nil || prev.DirectiveHash != m.DirectiveHash
}

// step is the state of one Advance.
type step struct {
	prev  *Record
	in    Input
	world World
	found []diag.Diagnostic
}

func (s *step) bad(rule, hint, format string, args ...any) {
	s.found = append(s.found, finding(rule, hint, format, args...))
}

// Advance makes the sealed record of a step after prev; a nil prev opens the unit id. If there are
// findings, the record is nil.
func Advance(id ID, prev *Record, in Input, world World) (*Record, []diag.Diagnostic) {
	r, found := unsealed(id, prev, in, world)
	if len(found) > 0 {
		return nil, found
	}
	if err := r.Seal(); err != nil {
		return nil, []diag.Diagnostic{finding("form", "mend it and try again", "%v", err)}
	}
	return r, nil
}

// unsealed is Advance without the record's own hash.
func unsealed(id ID, prev *Record, in Input, world World) (*Record, []diag.Diagnostic) {
	s := &step{prev: prev, in: in, world: world}
	r := s.advance(id)
	if len(s.found) > 0 {
		return nil, s.found
	}
	if err := r.check(); err != nil {
		s.bad("form", "mend it and try again", "%v", err)
		return nil, s.found
	}
	r.Hash = ""
	return r, nil
}

func (s *step) advance(id ID) *Record {
	to, legal := next(s.prev, s.in.Event)
	s.reason()
	if !legal {
		s.illegal()
		return nil
	}
	r := &Record{ID: id.String(), Directive: id.Directive, Layout: Layout}
	if s.prev != nil {
		copied := *s.prev
		r = &copied
		r.PrevHash = s.prev.Hash
	}
	r.State, r.Event, r.Actor, r.ReasonCode, r.Note = to, s.in.Event, s.in.Actor, s.in.Reason, s.in.Note
	r.Time = FormatTime(s.in.Time)
	if s.prev == nil {
		s.open(id, r)
	}
	if s.prev == nil || s.entersActive(to) {
		s.takeOver(r)
	}
	s.work(r)
	s.expire(r)
	s.zombie(r)
	s.count(r)
	return r
}

// entersActive reports whether the step makes the unit ACTIVE.
func (s *step) entersActive(to State) bool { return to == Active && s.prev.State != Active }

func (s *step) reason() {
	e, a := s.in.Event, s.in.Actor
	codes := reasons[e][a]
	switch {
	case reasons[e] == nil:
		s.bad("event", "see git ward fsm uow", "%q is not a step of a unit", e)
	case len(codes) == 0:
		s.bad("actor", "it is for: "+joined(actors(e)), "%s is not a step that %q may make", e, a)
	case !slices.Contains(codes, s.in.Reason):
		s.bad("reason", "the codes for it are "+joined(codes), "%q is not a reason code for %s", s.in.Reason, e)
	}
}

func joined[S ~string](list []S) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

func (s *step) illegal() {
	if s.prev == nil {
		s.bad("transition", "a unit begins with open (the agent) or fork (the PM)", "there is no such unit, so %s leads nowhere", s.in.Event)
		return
	}
	if s.in.Event.opens() {
		s.bad("transition", "the next unit of the directive has the next number", "the unit %s exists", s.prev.ID)
		return
	}
	if s.in.Actor == PM {
		s.bad("transition", s.prev.offers(), "%s is %s: %s does not lead anywhere from there", s.prev.ID, s.prev.State, s.in.Event)
		return
	}
	hint := "this state is the last one"
	if on := Machine().Expects(string(s.prev.State)); len(on) > 0 {
		hint = "from " + string(s.prev.State) + " lead: " + strings.Join(on, ", ")
	}
	s.bad("transition", hint, "the unit is %s: %s does not lead anywhere from there", s.prev.State, s.in.Event)
}

// open links a first record to the unit before it. A further unit needs a changed directive or
// the PM's fork (UOW-2).
func (s *step) open(id ID, r *Record) {
	last := s.world.Last
	switch {
	case s.world.alone:
	case last == nil && id.K != 1:
		s.bad("order", "open "+ID{id.Directive, 1}.String(), "%s has no unit before it", id)
	case last == nil && s.in.Event == Fork:
		s.bad("order", "the agent opens the first unit by itself", "there is nothing to fork")
	case last == nil:
	case last.ID != (ID{id.Directive, id.K - 1}).String():
		s.bad("order", "units are numbered one by one", "%s does not follow %s", id, last.ID)
	case !last.State.Ended():
		s.bad("order", "end it first: git ward uow cancel (for a blocked one: retry --waive --deny) "+last.ID, "%s is still %s", last.ID, last.State)
	case s.in.Event == Open && s.world.Main != nil && last.DirectiveHash == s.world.Main.DirectiveHash:
		s.bad("order", "edit the directive, or: git ward uow fork "+last.ID, "%s worked on this same text of the directive and is %s", last.ID, last.State)
	}
	if last != nil {
		r.Parent = last.ID
	}
}

// takeOver copies the directive's state into the record: from now on this text, these totals,
// this policy. A restart refills nothing: the spending of the same text continues.
func (s *step) takeOver(r *Record) {
	m := s.world.Main
	if m == nil || m.DirectiveHash == "" {
		s.bad("directive", "fetch main: the directive is not there", "main has no %s", r.Directive)
		return
	}
	spent := r.Budget.Spent
	if NeedsSpent(s.prev, m) {
		spent = m.Spent
	}
	r.DirectiveHash, r.Policy, r.Budget = m.DirectiveHash, m.Policy, Budget{m.Total, spent}
}

// work checks iterations, claims and completion.
func (s *step) work(r *Record) {
	e := s.in.Event
	if e == Iterate || e == MakeClaim {
		s.allowed(r)
	}
	switch e {
	case Iterate:
		r.Iteration++
	case MakeClaim:
		r.Claim = &Claim{Commit: s.in.Commit, Record: s.in.Record, Iteration: r.Iteration}
		if s.in.Record == "" {
			s.bad("claim", "name the record's commit whose second parent is the claimed commit",
				"a claim names a commit of the unit's record")
		}
		if r.Iteration == 0 {
			s.bad("claim", "push an iteration first", "there is nothing to claim before the first iteration")
		}
	case Complete:
		switch {
		case r.Claim == nil:
			s.bad("verdict", "push a claim and wait for its verdict", "nothing was claimed, so nothing can be complete")
		case s.world.Verdict != nil && !s.world.Verdict(r.Claim.Commit):
			s.bad("verdict", "wait for the verifier, or go on: git notes --ref=certificates show "+diag.Short(r.Claim.Commit),
				"the host has no verdict EXACT or CONVERGED on the claimed commit %s", diag.Short(r.Claim.Commit))
		}
	}
	if s.in.Commit+s.in.Record != "" && e != MakeClaim {
		s.bad("claim", "leave the commit out", "only a claim names a commit")
	}
}

// expire records what was deleted of a unit. That is possible once, and only if there was a record.
func (s *step) expire(r *Record) {
	if s.in.Event != Expire {
		if s.in.Expired != nil {
			s.bad("expired", "leave it out", "only an expiry drops a record")
		}
		return
	}
	switch {
	case s.in.Expired == nil:
		s.bad("expired", "name the record's last commit and its manifest's hash", "an expiry says what it drops")
	case r.Expired != nil:
		s.bad("expired", "nothing is left to drop", "the record of %s has expired already", r.ID)
	}
	r.Expired = s.in.Expired
}

// allowed refuses iterations and claims if the directive changed, a pulse is due or the agent
// makes no progress (UOW-3).
func (s *step) allowed(r *Record) {
	if m := s.world.Main; m != nil && m.DirectiveHash != r.DirectiveHash {
		s.bad("directive", "end the unit with DIRECTIVE_CHANGED and open the next one", "%s was edited since the unit became ACTIVE", r.Directive)
	}
	if r.PulseDue() {
		s.bad("pulse", "wait for the PM: git ward uow "+Heartbeat.Typed()+" "+r.ID,
			"%d interactions without a sign of the PM, and the policy wants one every %d", r.Pulse, r.Policy.PilotPulse)
	}
	if calls := s.interactions(); r.Calls+calls > r.Policy.MaxInteractions {
		s.bad("ambiguity", "block the unit with AMBIGUITY_LOCK", "%d interactions without progress, more than max_interactions %d", r.Calls+calls, r.Policy.MaxInteractions)
	}
}

// PulseDue reports whether the PM's heartbeat must come before more work.
func (r *Record) PulseDue() bool { return r.Policy.PilotPulse > 0 && r.Pulse >= r.Policy.PilotPulse }

// zombie checks the ways back from ZOMBIED_SOFT, and the agent's own approvals.
func (s *step) zombie(r *Record) {
	switch s.in.Event {
	case Retry:
		s.retry(r)
	case MakeClaim: // progress: earlier failures no longer count
		if !s.in.keepRetries {
			r.Retries = 0
		}
	case Heartbeat:
		if s.prev.State == PendingApproval && s.prev.ReasonCode != PulseIsDue {
			s.bad("transition", "answer it: git ward uow approve "+s.prev.ID, "the unit asks something, which a heartbeat does not answer")
		}
	case Waive:
		r.Retries = 0
	case Clarify:
		r.Interactions, r.Calls = 0, 0
	case Exhaust:
		if most := s.prev.retryLimit(); r.Retries < most && s.in.Reason != DirectiveGone {
			s.bad("retries", "retry", "%d of %d retries are left", most-r.Retries, most)
		}
	}
	if s.in.Actor == Agent && s.in.Reason == DirectiveEdited && s.in.Event != Open &&
		s.prev != nil && s.world.Main != nil && s.prev.DirectiveHash == s.world.Main.DirectiveHash {
		s.bad("actor", "wait for the PM", "the directive was not edited, so %s is the PM's", s.in.Event)
	}
	if s.in.Event == Clarify && s.in.Actor == Agent && r.State == s.prev.State {
		s.bad("actor", "wait for the PM", "the unit does not wait for a clarification, so a word to it is the PM's")
	}
	if s.in.Event == Clarify && s.in.Actor == PM && strings.TrimSpace(s.in.Note) == "" {
		s.bad("note", "say it: -m TEXT", "a clarification needs words")
	}
}

// retry counts one of the policy's retries, unless nobody's failure stopped the unit.
func (s *step) retry(r *Record) {
	if s.in.Reason == CauseGone {
		if !s.prev.ReasonCode.Free() {
			s.bad("retries", "retry with RETRY_POLICY, which counts", "%s is not gone by itself", s.prev.ReasonCode)
		}
		return
	}
	if most := s.prev.retryLimit(); r.Retries >= most {
		s.bad("retries", "the PM may: git ward uow retry --waive "+r.ID, "%d retries are spent, the policy allows %d", r.Retries, most)
	}
	r.Retries++
}

// interactions returns the number that the record counts. An iteration or claim counts at least one, so
// that a pulse comes due whatever number the agent states.
func (s *step) interactions() int64 {
	if s.in.Event == Iterate || s.in.Event == MakeClaim {
		return max(1, s.in.Interactions)
	}
	return s.in.Interactions
}

// count updates the counters and the ledger.
func (s *step) count(r *Record) {
	n := s.interactions()
	if n < 0 || n > maxCount || n > 0 && s.in.Actor != Agent {
		s.bad("count", "count the agent's own calls only", "%d interactions cannot be", n)
		return
	}
	r.Interactions += n
	r.Calls += n
	r.Pulse += n
	if s.prev == nil || r.State != s.prev.State || s.in.Event == Iterate || s.in.Event == MakeClaim {
		r.Calls = 0
	}
	if s.in.Actor == PM {
		r.Pulse = 0
	}
	c := cost(s.in.Event, s.in.Actor)
	if name := r.Budget.over(c); name != "" && !r.State.Ended() {
		s.bad("budget", "end the unit with LOOP_BUDGET_EXCEEDED; the PM may edit the directive's max_iterations",
			"the %s of %s are spent: %d of %d", name, r.Directive, pick(r.Budget.Spent, name), pick(r.Budget.Total, name))
	}
	r.Budget.Spent = r.Budget.Spent.plus(c)
}

func pick(c Counts, name string) int64 {
	switch name {
	case "iterations":
		return c.Iterations
	case "claims":
		return c.Claims
	}
	return c.Pushes
}
