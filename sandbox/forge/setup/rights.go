package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/forge"
	"git-ward/sandbox/doctor/finding"
	"git-ward/sandbox/forge/client"
)

// Asked is what is to be known of a forge.
type Asked struct {
	Forge    client.Forge
	Page     string // the project's
	File     string // of the token
	Branches string // [forge] branches
	Hook     *Hook  // nil: nothing is asked of webhooks
}

// A branch that git allows no name for, and a commit that nobody has.
const (
	noBranch = "ward..asks"
	noCommit = "0000000000000000000000000000000000000000"
)

// examination is what was found of a forge so far.
type examination struct {
	asked Asked
	login string // whose token it is; "" before that is known
	found []finding.Finding
}

func (e *examination) add(thing string, state finding.State, mend, format string, args ...any) {
	e.found = append(e.found, finding.Finding{Thing: "forge: " + thing, State: state, Detail: fmt.Sprintf(format, args...), Mend: mend})
}

// lacks adds what an error keeps from being there, and reports whether there is one.
func (e *examination) lacks(thing string, err error) bool {
	if err == nil {
		return false
	}
	state := finding.Missing
	if _, away := errors.AsType[*client.ErrLater](err); away {
		state = finding.Warning // it may be back in a minute; the process waits for it
	}
	e.add(thing, state, Remedy(err, e.asked.File, e.login), "%v", err)
	return true
}

// Examine asks the forge whose token it is, and what the token may.
func Examine(ctx context.Context, a Asked) []finding.Finding {
	e := &examination{asked: a}
	self, err := a.Forge.Self(ctx)
	if e.lacks("token", err) {
		return e.found
	}
	e.login = self.Login
	e.add("token", finding.Fine, "", "of %s; it stays in %s", e.login, a.File)
	project, err := a.Forge.Project(ctx)
	if e.lacks("project", err) {
		return e.found
	}
	e.project(project)
	e.rights(ctx, project)
	if a.Hook != nil {
		e.webhook(ctx)
	}
	if a.Branches == "project" {
		e.add("branches", finding.Warning, `git ward config forge.branches=fork, on the host`, `[forge] branches is "project": the forge's machines run the agent's code, with the project's secrets, before any verdict`)
	}
	return e.found
}

// project says whether the token's user may write to the project, and fork it.
func (e *examination) project(p client.Project) {
	switch {
	case p.Closed:
		e.add("project", finding.Missing, "open it again on the forge, or set [forge] url to another", "%s is archived: nothing can be written there", e.asked.Page)
	case !p.Write:
		e.add("project", finding.Missing, "make "+e.login+" a collaborator who may write, on the forge", "%s may read %s, and not write: no status is set, and nothing merged", e.login, e.asked.Page)
	default:
		e.add("project", finding.Fine, "", "%s, whose branch is %s", e.asked.Page, p.Branch)
	}
	if strings.EqualFold(e.login, p.Owner) && e.asked.Branches != "project" {
		e.add("fork", finding.Missing, "make a user for Ward alone, and a token of that user's", "%s owns the project, and so has no fork of it", e.login)
	}
}

// rights tries what the token may. A right to write is asked for on what cannot be: issue 0, the
// commit of zeros, a branch that has no legal name. A forge refuses that for want of the right, or
// because there is no such thing, and so nothing is made.
func (e *examination) rights(ctx context.Context, p client.Project) {
	// Only a denial is a want of the right: who has it is answered about what cannot be, by Gitea
	// with a 500.
	tried := func(thing, may string, err error) {
		_, denied := errors.AsType[*client.ErrDenied](err)
		switch {
		case denied || len(diag.Hints(err)) > 0:
			e.lacks(thing, err)
		case ctx.Err() != nil:
			e.add(thing, finding.Warning, "do this again", "was not tried to the end")
		default:
			e.add(thing, finding.Fine, "", "%s", may)
		}
	}
	_, err := e.asked.Forge.MayWrite(ctx, p.Owner) // Gitea tells each user of himself, and few of others
	tried("people", "it may look up who may write", err)
	_, err = e.asked.Forge.Issue(ctx, 0)
	tried("issues", "it may read them", err)
	_, err = e.asked.Forge.Comment(ctx, client.Thread{}, "ward asks whether it may comment")
	tried("comments", "it may make them", err)
	err = e.asked.Forge.SetStatus(ctx, noCommit, client.Status{Context: forge.Context, State: "pending", Description: diag.Untrusted("ward asks whether it may")})
	tried("statuses", "it may set them", err)
	e.rule(ctx, p.Branch)
	_, err = e.asked.Forge.Open(ctx, client.NewRequest{Head: client.Head{Owner: e.login, Branch: noBranch}, Base: noBranch, Title: "ward asks whether it may", Draft: true})
	tried("requests", "it may make them", err)
}

// rule says whether the forge merges into the project's branch without the verdict.
func (e *examination) rule(ctx context.Context, branch string) {
	rule, err := e.asked.Forge.Required(ctx, branch, forge.Context)
	if errors.Is(err, client.ErrNotFound) { // the project is empty
		err = nil
	}
	switch {
	case e.lacks("rule", err):
	case rule.Pinned:
		e.add("rule", finding.Fine, "", "%s requires %s, and only the app gives it", branch, forge.Context)
	case rule.Required:
		e.add("rule", finding.Warning, "let nobody write to the project who should not; on GitHub an app can give it alone (docs/forge.md)", "%s requires %s, and whoever may write to the project can set it", branch, forge.Context)
	default:
		e.add("rule", finding.Fine, "", "%s requires no %s: people see the verdict, and the forge merges without it", branch, forge.Context)
	}
}

// webhook says whether the forge has the webhook.
func (e *examination) webhook(ctx context.Context) {
	err := e.asked.Hook.usable()
	there := false
	if err == nil {
		there, _, err = e.asked.Hook.find(ctx, e.asked.Forge)
	}
	switch {
	case e.lacks("webhook", err):
	case !there:
		e.add("webhook", finding.Missing, "git ward init --forge "+diag.Word(e.asked.Page)+", and the directory, again", "the forge has none of this repository's that sends to %s", e.asked.Hook.To)
	default:
		e.add("webhook", finding.Fine, "", "it sends to %s", e.asked.Hook.To)
	}
}
