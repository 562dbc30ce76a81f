package forge

import (
	"fmt"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

// Context is the name of the status, or check, that shows the verdict.
const Context = "ward/verdict"

// State is the state of a status, in the words that all forges use.
type State string

// The states.
const (
	Pending State = "pending"
	Success State = "success"
	Failure State = "failure"
	Error   State = "error"
)

// MaxDescription bounds a status's description, in bytes; the largest forge accepts no more.
const MaxDescription = 140

// Judged is what Ward knows about a request's head; it is the input of Status.
type Judged struct {
	Head string // the commit that the status is on
	// Others says that a person made the request and that it belongs to no directive. Agents counts
	// its commits by an agent.
	Others bool
	Agents int
	// People counts the commits by people on top of the agent's claim.
	People    int
	Name      string           // the directive's name, D-1
	Directive *comms.Directive // its present text; nil if it is dropped or no longer listed
	Unit      string           // D-1.1; "" if none began
	Claim     string           // the commit that the unit claimed last, "" for none
	Verdict   *loop.Verdict    // the host's last verdict on that claim, nil for none
	Never     string           // why no verdict is possible, in Ward's words; "" if one is
}

// Status returns the status of a request's head, by the table of FORGE-3. It is Success only if a
// verdict proves exactly this commit for the directive's present text.
func Status(j Judged) (state State, description string) {
	state, description = j.status()
	return state, Plain(diag.Untrusted(description), MaxDescription)
}

func (j Judged) status() (State, string) {
	v := j.Verdict
	switch {
	case j.Others && j.Agents > 0:
		return Pending, fmt.Sprintf("%s of it by an agent: what is proved of that is on the directive's own request", diag.Count(j.Agents, "commit"))
	case j.Others:
		return Success, "no directive"
	case j.Directive == nil:
		return Error, j.Name + " is dropped, or no longer listed: no verdict is possible"
	case j.People > 0:
		return Pending, fmt.Sprintf("%s by people since the claim: /ward retry goes on from there", diag.Count(j.People, "commit"))
	case v == nil && j.Never != "":
		return Error, "no verdict is possible: " + j.Never
	case j.Claim == "":
		return Pending, j.Name + " is in progress, and nothing is claimed yet"
	case j.Claim != j.Head:
		return Pending, fmt.Sprintf("%s claims %s, which is another commit", j.Unit, diag.Short(j.Claim))
	case v == nil:
		return Pending, j.Unit + " claims this commit, and the host judges it"
	case v.Commit != j.Head || v.Unit != j.Unit:
		return Pending, "the last verdict is on another commit, and this one is to be judged"
	case v.DirectiveHash != j.Directive.Hash():
		return Pending, "the text of " + j.Name + " changed since the verdict"
	case j.given():
		return Pending, "somebody gave his word since the verdict, and the host judges this commit again"
	case v.Untried:
		return Pending, "all is met, and the program's probation is not over"
	case v.MissingTool != nil:
		return Error, "no verdict is possible: " + v.Reason
	case v.Verdict == loop.None && v.WantsWord():
		return Failure, "NONE: it holds only by your word, /ward include: " + v.Reason
	case v.Verdict == loop.None:
		return Failure, "NONE: " + v.Reason
	case !v.Proves(j.Head, j.Unit, j.Directive.Hash()) || !v.Sound():
		return Error, v.Verdict + " does not follow from its runs: git ward fsck on the host says more"
	}
	for _, d := range v.Against() {
		if d.Seen {
			return Failure, v.Verdict + ", and against it: " + d.Words()
		}
	}
	return Success, v.Verdict + ": " + v.Reason + j.unsure()
}

// given reports whether a person has accepted, since the verdict, what it waited for.
func (j Judged) given() bool {
	v, o := j.Verdict, j.Directive.Options
	for _, left := range v.Left {
		word, err := left.Include()
		if err != nil {
			continue
		}
		for _, i := range o.Included {
			if i == word {
				return true
			}
		}
	}
	return v.OnlyGuards && (o.Guards != "" || o.MayHold != "" && v.Unchanged)
}

// unsure says in a few words what a proof leaves open.
func (j Judged) unsure() string {
	switch n := len(j.Verdict.Against()); {
	case j.Verdict.Fence == loop.FenceNone:
		return "; judged without a fence"
	case n > 0:
		return fmt.Sprintf("; %s is not known, see the request", diag.Count(n, "thing"))
	}
	return ""
}
