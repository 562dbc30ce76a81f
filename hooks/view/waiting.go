package view

import (
	"cmp"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// kinds is the order in which waiting things are shown.
var kinds = []Kind{Incident, Question, Approval, Blocked, Ready, Unproved, Outage}

// waits lists what a directive waits for; usually nothing. broken is the error of reading its unit's
// journal, or nil.
func waits(p review.Position, line Line, broken error) []Waiting {
	said := line.Waits
	w := Waiting{For: said.For, Directive: p.Name, Unit: line.Unit, Title: line.Title, What: said.Why, Command: said.Command, Or: line.Or, Since: line.Updated}
	switch {
	case broken != nil:
		lost := uow.JournalBroken.Waiting(p.Name, line.Unit, "")
		w.Kind, w.For, w.What, w.Command, w.Or = Incident, lost.For, lost.Why, lost.Command, ""
		w.Key, w.Words = p.Name+" broken", diag.Untrusted(broken.Error())
	case said.For != uow.ForYou && said.For != uow.ForCause:
		return nil
	case line.State == review.Ready:
		w.Kind, w.Or = Ready, "git ward take "+p.Name
		w.Key = line.Unit + " ready " + line.Commit
	case line.State == review.Unproved:
		w.Kind = Unproved
		w.Key = p.Name + " unproved " + line.Unit + " " + reportName(p)
	case p.Unit == nil:
		w.Kind = Question
		w.Key = p.Name + " question " + reportName(p)
		if p.Report != nil {
			w.Words = diag.Untrusted(review.Quoted(p.Report.Said()))
		}
	default:
		w.unit(p)
	}
	return []Waiting{w}
}

// unit fills in what the unit's newest record says.
func (w *Waiting) unit(p review.Position) {
	r := p.Unit
	w.Kind = unitKind(r, w.For)
	w.Words, w.Since = diag.Untrusted(r.Note), parse(r.Time)
	// An exit's note may be about something else, such as a switch of the model, so the report's
	// words are preferred.
	if w.Kind == Blocked && p.Report != nil && !p.Report.Time.Before(w.Since) && (r.Note == "" || p.Report.Status == comms.ExitBlocked) {
		w.Words = diag.Untrusted(review.Quoted(p.Report.Said())) // the agent's words on what blocks it
	}
	w.Key = r.ID + " " + string(r.State) + " " + r.Hash
}

func unitKind(r *uow.Record, whom uow.Party) Kind {
	switch {
	case whom == uow.ForCause:
		return Outage
	case r.State == uow.Breached:
		return Incident
	case r.State == uow.PendingApproval && (r.ReasonCode == uow.Question || r.ReasonCode == uow.NeedInfo):
		return Question
	case r.State == uow.PendingApproval, r.State == uow.Active:
		return Approval
	}
	return Blocked
}

func reportName(p review.Position) string {
	if p.Report == nil {
		return ""
	}
	return p.Report.Name()
}

// order sorts by kind, in the order of kinds, and the oldest of each kind first.
func order(list []Waiting) {
	slices.SortStableFunc(list, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), a.Since.Compare(b.Since))
	})
}

// OnHost adds --bare DIR to a command, so that it can be typed outside the repository.
func OnHost(command, dir string) string {
	words := strings.SplitN(command, " ", 4) // git ward VERB REST
	if len(words) < 3 || words[0] != "git" || words[1] != "ward" {
		return command
	}
	at := 3
	if (words[2] == "uow" || words[2] == "directive") && len(words) > 3 { // the verb has two words
		verb, rest, _ := strings.Cut(words[3], " ")
		words, at = append(words[:3], verb, rest), 4
	}
	words = slices.Insert(words, at, "--bare "+diag.Word(dir))
	return strings.TrimSpace(strings.Join(words, " "))
}
