package view

import (
	"cmp"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// kinds is the order in which things that wait are shown.
var kinds = []Kind{Incident, Question, Approval, Blocked, Ready, Unproved, Outage}

// waits is what waits for a PM of a directive; none, most often. broken is why its unit's
// journal could not be read, nil for one that was.
func waits(p review.Position, line Line, broken error) []Waiting {
	w := Waiting{Directive: p.Name, Unit: line.Unit, Title: line.Title, Command: line.Next, Or: line.Or, Since: line.Updated}
	switch {
	case broken != nil:
		w.Kind, w.What, w.Command = Incident, "the journal of its unit cannot be read: "+diag.Clean(broken.Error()), "git ward fsck"
		w.Key = p.Name + " broken"
	case line.State == review.Ready:
		w.Kind, w.What, w.Or = Ready, "the work is proved, and nobody has taken it", "git ward take "+p.Name
		w.Key = line.Unit + " ready " + line.Commit
	case line.State == review.Unproved:
		w.Kind, w.What = Unproved, unproved(p, line.Standing)
		w.Key = p.Name + " unproved " + line.Unit + " " + reportName(p)
	case line.State == review.Waiting && p.Waits().For != uow.ForYou:
		w.Kind, w.What = Question, "it waits for your answer: "+line.Directive+" lacks something"
		w.Key = p.Name + " question " + reportName(p)
		if p.Report != nil {
			w.Words = diag.Untrusted(p.Report.Text)
		}
	case p.Unit == nil || line.State != review.Waiting && line.State != review.Working:
		return nil
	default:
		return unitWaits(p, w)
	}
	return []Waiting{w}
}

// unitWaits is what a unit waits for, as it says itself.
func unitWaits(p review.Position, w Waiting) []Waiting {
	r, said := p.Unit, p.Waits()
	if said.For != uow.ForYou && said.For != uow.ForCause {
		return nil
	}
	w.Kind = unitKind(r, said)
	w.What, w.Command, w.Or = said.Why, said.Command, ""
	w.Words, w.Since = diag.Untrusted(r.Note), parse(r.Time)
	if w.Words == "" && w.Kind == Blocked && p.Report != nil && !p.Report.Time.Before(w.Since) {
		w.Words = diag.Untrusted(p.Report.Text) // by what, in the agent's words
	}
	w.Key = r.ID + " " + string(r.State) + " " + r.Hash
	return []Waiting{w}
}

func unitKind(r *uow.Record, said uow.Waiting) Kind {
	switch {
	case said.For == uow.ForCause:
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

// unproved says how it ended.
func unproved(p review.Position, s review.Standing) string {
	words := "it ended, and nothing proves it"
	if p.Report != nil && p.Report.Status.Words() != "" {
		words = p.Report.Status.Words() + "; nothing proves it"
	}
	if p.Verdict != nil && s.Current && p.Verdict.Reason != "" {
		words += ": " + diag.Clean(p.Verdict.Reason)
	}
	return words
}

func reportName(p review.Position) string {
	if p.Report == nil {
		return ""
	}
	return p.Report.Name()
}

// waitsWords is for whom a directive waits, and what to type.
func waitsWords(p review.Position, s review.Standing) string {
	if p.Unit != nil && (s.State == review.Working || s.State == review.Waiting) {
		if said := p.Waits(); said.For != uow.ForNobody && s.WaitsFor != "host" && s.WaitsFor != "after" {
			return said.String()
		}
	}
	switch s.WaitsFor {
	case "after":
		return s.Before()
	case "you":
		words := "you: " + s.Next
		if s.Or != "" {
			words += ", or " + s.Or
		}
		return words
	case "agent":
		return "the agent"
	case "host":
		return "the host, which runs what decides"
	}
	return ""
}

// order puts what only a PM can move first, the oldest of each kind before the others.
func order(list []Waiting) {
	slices.SortStableFunc(list, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), a.Since.Compare(b.Since))
	})
}

// OnHost is a command as it is typed outside the repository, with --bare DIR.
func OnHost(command, dir string) string {
	words := strings.SplitN(command, " ", 4) // git ward VERB REST
	if len(words) < 3 || words[0] != "git" || words[1] != "ward" {
		return command
	}
	at := 3
	if (words[2] == "uow" || words[2] == "directive") && len(words) > 3 { // its verb has two words
		verb, rest, _ := strings.Cut(words[3], " ")
		words, at = append(words[:3], verb, rest), 4
	}
	words = slices.Insert(words, at, "--bare "+diag.Word(dir))
	return strings.TrimSpace(strings.Join(words, " "))
}
