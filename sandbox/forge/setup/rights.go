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

// Examine asks the forge whose token it is, and what the token may. A right to write is asked
// for on what cannot be: issue 0, the commit of zeros, a branch that has no legal name. A forge
// refuses that for want of the right, or because there is no such thing, and so nothing is made.
func Examine(ctx context.Context, a Asked) (found []finding.Finding) {
	add := func(thing string, state finding.State, mend, format string, args ...any) {
		found = append(found, finding.Finding{Thing: "forge: " + thing, State: state, Detail: fmt.Sprintf(format, args...), Mend: mend})
	}
	login := ""
	lacks := func(thing string, err error) bool {
		if err == nil {
			return false
		}
		state := finding.Missing
		if _, away := errors.AsType[*client.ErrLater](err); away {
			state = finding.Warning // it may be back in a minute; the process waits for it
		}
		add(thing, state, Remedy(err, a.File, login), "%v", err)
		return true
	}
	self, err := a.Forge.Self(ctx)
	if lacks("token", err) {
		return found
	}
	login = self.Login
	add("token", finding.Fine, "", "of %s; it stays in %s", login, a.File)
	project, err := a.Forge.Project(ctx)
	if lacks("project", err) {
		return found
	}
	switch {
	case project.Closed:
		add("project", finding.Missing, "open it again on the forge, or set [forge] url to another", "%s is archived: nothing can be written there", a.Page)
	case !project.Write:
		add("project", finding.Missing, "make "+login+" a collaborator who may write, on the forge", "%s may read %s, and not write: no status is set, and nothing merged", login, a.Page)
	default:
		add("project", finding.Fine, "", "%s, whose branch is %s", a.Page, project.Branch)
	}
	if strings.EqualFold(login, project.Owner) && a.Branches != "project" {
		add("fork", finding.Missing, "make a user for Ward alone, and a token of that user's", "%s owns the project, and so has no fork of it", login)
	}
	// Only a denial is a want of the right: who has it is answered about what cannot be, by Gitea
	// with a 500.
	tried := func(thing, may string, err error) {
		_, denied := errors.AsType[*client.ErrDenied](err)
		switch {
		case denied || len(diag.Hints(err)) > 0:
			lacks(thing, err)
		case ctx.Err() != nil:
			add(thing, finding.Warning, "do this again", "was not tried to the end")
		default:
			add(thing, finding.Fine, "", "%s", may)
		}
	}
	_, err = a.Forge.MayWrite(ctx, project.Owner) // Gitea tells each user of himself, and few of others
	tried("people", "it may look up who may write", err)
	_, err = a.Forge.Issue(ctx, 0)
	tried("issues", "it may read them", err)
	_, err = a.Forge.Comment(ctx, client.Thread{}, "ward asks whether it may comment")
	tried("comments", "it may make them", err)
	err = a.Forge.SetStatus(ctx, noCommit, client.Status{Context: forge.Context, State: "pending", Description: diag.Untrusted("ward asks whether it may")})
	tried("statuses", "it may set them", err)
	rule, err := a.Forge.Required(ctx, project.Branch, forge.Context)
	if errors.Is(err, client.ErrNotFound) { // the project is empty
		err = nil
	}
	switch {
	case lacks("rule", err):
	case rule.Pinned:
		add("rule", finding.Fine, "", "%s requires %s, and only the app gives it", project.Branch, forge.Context)
	case rule.Required:
		add("rule", finding.Warning, "let nobody write to the project who should not; on GitHub an app can give it alone (docs/forge.md)", "%s requires %s, and whoever may write to the project can set it", project.Branch, forge.Context)
	default:
		add("rule", finding.Fine, "", "%s requires no %s: people see the verdict, and the forge merges without it", project.Branch, forge.Context)
	}
	_, err = a.Forge.Open(ctx, client.NewRequest{Head: client.Head{Owner: login, Branch: noBranch}, Base: noBranch, Title: "ward asks whether it may", Draft: true})
	tried("requests", "it may make them", err)
	if a.Hook != nil {
		err := a.Hook.usable()
		there := false
		if err == nil {
			there, _, err = a.Hook.find(ctx, a.Forge)
		}
		switch {
		case lacks("webhook", err):
		case !there:
			add("webhook", finding.Missing, "git ward init --forge "+diag.Word(a.Page)+", and the directory, again", "the forge has none of this repository's that sends to %s", a.Hook.To)
		default:
			add("webhook", finding.Fine, "", "it sends to %s", a.Hook.To)
		}
	}
	if a.Branches == "project" {
		add("branches", finding.Warning, `git ward config forge.branches=fork, on the host`, `[forge] branches is "project": the forge's machines run the agent's code, with the project's secrets, before any verdict`)
	}
	return found
}
