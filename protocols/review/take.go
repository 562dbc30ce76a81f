package review

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// Obstacle says why work cannot be taken, "" if it can, and what to do about it.
type Obstacle struct{ Why, Hint string }

// Obstacle checks work against its verdict: the commit, the directive's text, and whether it
// can be merged (REC-3). commit abbreviates the id that the work must have; "" means the last
// claim.
func (r *Review) Obstacle(commit string) Obstacle {
	if o := r.unproved(commit); o.Why != "" {
		return o
	}
	switch {
	case r.Merge.Unrelated:
		return Obstacle{fmt.Sprintf("%s shares no history with the project", diag.Short(r.Commit)), "git ward uow fork " + r.Unit + " begins anew"}
	case len(r.Merge.Conflicts) > 0:
		return Obstacle{fmt.Sprintf("%s conflicts with what the project did meanwhile, in: %s", r.Unit, paths(r.Merge.Conflicts)),
			fmt.Sprintf("git ward uow fork %s lets the agent merge it; or by hand: git merge %s, mend, commit, push", r.Unit, r.Commit)}
	}
	return Obstacle{}
}

// Stays says why a merge is not taken, given the host's verdict v on the merged tree; nil means that
// there is no verdict yet.
func (r *Review) Stays(v *loop.Verdict) Obstacle {
	otherwise := fmt.Sprintf("git ward take --unjudged %s takes it all the same; git ward uow fork %s lets the agent go on from the project as it is", r.Unit, r.Unit)
	if v == nil {
		return Obstacle{fmt.Sprintf("the project has moved on since the verdict (%s changed beside it), and the host has not judged the merged tree yet", paths(r.Merge.Beside)),
			"it does while git ward launch runs, and git ward take " + r.Unit + " goes on then; " + otherwise}
	}
	return Obstacle{"merged with what the project did meanwhile, it does not hold: " + diag.Clean(v.Reason), otherwise}
}

// StaysDoubted says why a merge with a good verdict v is not taken by --all: v names doubts that the
// claim's verdict does not, and nobody has seen those. Why is "" if there are none.
func (r *Review) StaysDoubted(v *loop.Verdict) Obstacle {
	var doubts []string
	for _, d := range v.AgainstBeyond(*r.Word) {
		doubts = append(doubts, diag.Clean(d.Words()))
	}
	if len(doubts) == 0 {
		return Obstacle{}
	}
	return Obstacle{"merged with what the project did meanwhile, its verdict names what the claim's does not: " + strings.Join(doubts, "; "),
		"git ward review " + r.Directive + " shows the work; git ward take " + r.Unit + " takes it all the same"}
}

// unproved says why no verdict proves the commit for the directive's present text.
func (r *Review) unproved(wanted string) Obstacle {
	look := Obstacle{Hint: "git ward review " + r.Directive + " shows it; git ward directive edit " + r.Directive + " has it worked on again"}
	say := func(format string, args ...any) Obstacle {
		look.Why = fmt.Sprintf(format, args...)
		return look
	}
	switch {
	case r.Commit == "":
		return Obstacle{"there is no work on " + r.Directive + " yet", ""}
	case r.State == Gone:
		return say("COMMS.md has no %s any more, so its verdict is for a text that does not stand", r.Directive)
	case r.State == Dropped:
		return Obstacle{r.Directive + " was dropped", "git ward directive edit " + r.Directive + " opens it again"}
	case r.Unit == "":
		return say("%s was worked on without a unit of work, so nothing of it is judged", r.Directive)
	case !r.Claimed:
		return say("%s claimed nothing yet, so nothing of it is judged", r.Unit)
	case !r.Is(wanted):
		return Obstacle{fmt.Sprintf("%s claims %s by now, and not %.40s", r.Unit, diag.Short(r.Commit), wanted), "git ward review " + r.Unit + " shows what it is"}
	case r.Word == nil:
		return say("the claim of %s on %s has no verdict yet", r.Unit, diag.Short(r.Commit))
	case !r.Current:
		return say("the verdict on %s is for another text of %s, which was edited since", diag.Short(r.Commit), r.Directive)
	case r.Word.Verdict == loop.None:
		switch {
		case r.State == Working: // the PM has answered
			look.Hint = "the agent goes on with " + r.Unit + ": git ward uow show " + r.Unit
		case r.State == Waiting && r.Next != "":
			look.Hint = r.Next + " is next; git ward review " + r.Directive + " shows it"
		case r.leftOut():
			include := "git ward include " + r.Directive + " takes in what was left out, for what is claimed next"
			look.Hint += "; " + include
			if r.Word.NotIncluded { // the whole claim passes
				look.Hint = include + "; git ward review " + r.Directive + " shows it"
			}
		}
		return say("the verdict on %s is NONE: %s", diag.Short(r.Commit), diag.Clean(r.Word.Reason))
	case !r.Word.Proves(r.Commit, r.Unit, r.Word.DirectiveHash):
		return say("the verdict that stands on %s is for another commit or unit", diag.Short(r.Commit))
	}
	return Obstacle{}
}

// leftOut reports whether a verdict on the present text is NONE and left out changes of the claim.
func (r *Review) leftOut() bool {
	v := r.Word
	return v != nil && r.Current && v.Verdict == loop.None && len(v.Left) > 0
}

// Is reports whether the id of the work's commit begins with wanted; "" matches any.
func (r *Review) Is(wanted string) bool { return strings.HasPrefix(r.Commit, strings.ToLower(wanted)) }

// maxNamed bounds the paths in one sentence.
const maxNamed = 8

func paths(list []diag.Untrusted) string {
	var names []string
	for i, p := range list {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		names = append(names, p.String())
	}
	return strings.Join(names, ", ")
}

// Offers lists the commands that a PM may type next, likeliest first.
func (r *Review) Offers() []string {
	drop, edit := "git ward drop "+r.Directive, "git ward directive edit "+r.Directive
	switch r.State {
	case Taken, Dropped:
		return []string{edit + " (opens it again)"}
	case Gone, Open:
		return []string{}
	case Waiting:
		if strings.HasPrefix(r.Next, edit) {
			return []string{r.Next, drop}
		}
		return []string{r.Next, edit, drop}
	case Working:
		return []string{"git ward uow show " + r.Unit, "git ward uow pause " + r.Unit}
	}
	if o := r.unproved(""); o.Why != "" {
		if r.leftOut() {
			return []string{edit, "git ward include " + r.Directive + " (takes in what was left out, for what is claimed next)", drop}
		}
		return []string{edit, drop}
	}
	if len(r.Merge.Conflicts) > 0 {
		return []string{"git ward uow fork " + r.Unit + " (the agent merges the project)", drop}
	}
	take := "git ward take " + r.Unit
	offers := []string{take, drop}
	if !r.Merge.Judged {
		offers = []string{take + " (the project has moved on, so the host judges the merged tree first)", "git ward uow fork " + r.Unit + " (the agent goes on from there)", drop}
	}
	if v := r.Word; v != nil && len(v.Checkers) > 0 {
		offers = append(offers, "git ward include "+r.Directive+" (you read the changed checkers, and they are work)")
	}
	return offers
}

// TakeMessage returns the message of the commit that takes the work into the project.
func (r *Review) TakeMessage(squash bool, subjects []string) string {
	title := r.Directive + ": " + r.Title.String()
	if !squash {
		title = "Merge " + title
	}
	var b strings.Builder
	b.WriteString(strings.ToValidUTF8(cutTo(title, 72), "") + "\n\n")
	if squash {
		for _, s := range subjects {
			b.WriteString("- " + diag.Clean(cutTo(s, 200)) + "\n")
		}
		if len(subjects) > 0 {
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "Verdict %s of %s on %s: %s.\n\n", r.Word.Verdict, r.Unit, r.Commit, diag.Clean(cutTo(r.Word.Reason, 300)))
	for _, by := range r.Word.Assisted {
		fmt.Fprintf(&b, "Assisted-by: %s\n", diag.Clean(cutTo(by, 200)))
	}
	fmt.Fprintf(&b, "Ward-Directive: %s\n", r.Directive)
	if r.Record != "" {
		fmt.Fprintf(&b, "Ward-Record: %s\n", r.Record)
	}
	if squash {
		fmt.Fprintf(&b, "Ward-Taken: %s\n", r.Commit)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// cutTo cuts a text to size bytes, "..." included.
func cutTo(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.TrimSuffix(diag.Cut(text, size-3), " ")
}
