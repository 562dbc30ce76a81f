package forge

import (
	"fmt"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

// Context is the name of the status, or check, that has the verdict.
const Context = "ward/verdict"

// State is a status's, in the words that forges share.
type State string

// The states.
const (
	Pending State = "pending"
	Success State = "success"
	Failure State = "failure"
	Error   State = "error"
)

// MaxDescription bounds a status's description, in bytes: the largest forge takes no more.
const MaxDescription = 140

// Judged is what is known of a request's head.
type Judged struct {
	Head string // the commit that the status is on
	// Others says that a person made the request, and that no directive is of it. Agents is how many
	// of its commits an agent made all the same.
	Others bool
	Agents int
	// People is how many commits of the request are by people, on top of what an agent claimed.
	People    int
	Name      string           // of the directive, D-1
	Directive *comms.Directive // as it stands; nil where it is dropped, or no longer listed
	Unit      string           // D-1.1; "" where none began
	Claim     string           // the commit that the unit claimed last, "" for none
	Verdict   *loop.Verdict    // the host's last on that claim, nil while there is none
	Never     string           // why no verdict is possible, in Ward's words; "" where one is
}

// Status is the status of a request's head: the table of FORGE-3. What is not known to be
// proved on exactly this commit, for the text as it stands, is never a success.
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

// given reports whether a person gave the word that the verdict lacked, after it.
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

// unsure is what a proof leaves open, in a few words.
func (j Judged) unsure() string {
	switch n := len(j.Verdict.Against()); {
	case j.Verdict.Fence == loop.FenceNone:
		return "; judged without a fence"
	case n > 0:
		return fmt.Sprintf("; %s is not known, see the request", diag.Count(n, "thing"))
	}
	return ""
}
