package site

import (
	"html/template"
	"slices"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
	"git-ward/protocols/review"
)

// Pages renders the pages of one repository, with links for a directory of files or, if Live, for the
// server.
type Pages struct {
	Live       bool
	Repository string // its base name
	Version    string // of the data
	// Now is when the source was read. In a report it is the time of the newest step, so that the
	// same refs give the same pages.
	Now time.Time
	// Works has the directives whose work has a page; nil means all that have work.
	Works map[string]bool

	lifecycles map[string]template.HTML // cache of pictures by the unit's state; nil disables it
}

// works returns a function that reports whether a directive's work has a page.
func (p Pages) works(o *view.Overview) func(name string) bool {
	if p.Works != nil {
		return func(name string) bool { return p.Works[name] }
	}
	have := map[string]bool{}
	for _, d := range o.Directives {
		have[d.Directive] = d.Commit != ""
	}
	return func(name string) bool { return have[name] }
}

func (p Pages) page(title, here string, content any) page {
	return page{Links: links{p.Live}, Title: title, Repository: diag.Untrusted(p.Repository), Version: p.Version, Here: here, Content: content}
}

// home renders a page of the overview; more says that another follows.
func (p Pages) home(o *view.Overview, a ask) (data []byte, more bool, err error) {
	h, more := newHome(o, links{p.Live}, a, p.works(o))
	data, err = render("home", p.page(waitingWords(o), "home", h))
	return data, more, err
}

func (p Pages) directive(d *view.Directive) ([]byte, error) {
	return render("directive", p.page(d.Directive+" "+d.Title.String(), "", newDirective(d, links{p.Live}, p.Now)))
}

// until returns the time on which a directive's page depends: Now if a unit has not ended, because the
// page shows how long it has run, else zero.
func (p Pages) until(d *view.Directive) time.Time {
	if slices.ContainsFunc(d.Units, func(u view.Unit) bool { return !u.State.Ended() }) {
		return p.Now
	}
	return time.Time{}
}

func (p Pages) unit(d *view.Directive, u view.Unit) ([]byte, error) {
	machine, err := p.lifecycle(u)
	if err != nil {
		return nil, err
	}
	return render("unit", p.page("Unit "+u.ID, "", newUnit(d, u, links{p.Live}, machine)))
}

// lifecycle renders the state machine of a unit with its state marked.
func (p Pages) lifecycle(u view.Unit) (template.HTML, error) {
	key := string(u.State) + ": " + u.Words
	if made, ok := p.lifecycles[key]; ok {
		return made, nil
	}
	m, ok := fsm.Embedded("uow")
	if !ok {
		return "", nil
	}
	data, err := execute("unit", "machine", titled{newMachine(m, string(u.State)), "The unit is " + u.Words})
	made := template.HTML(data)
	if err == nil && p.lifecycles != nil {
		p.lifecycles[key] = made
	}
	return made, err
}

func (p Pages) review(r *review.Review) ([]byte, error) {
	return render("review", p.page("The work on "+r.Directive, "", newWork(r, links{p.Live})))
}

func (p Pages) audit(a *view.AuditPage, f view.Filter, pages *pager) ([]byte, error) {
	return render("audit", p.page("Pushes", "audit", newPushes(a, f, links{p.Live}, pages)))
}

func (p Pages) machines() ([]byte, error) {
	var list []titled
	for _, name := range fsm.Names() {
		if m, ok := fsm.Embedded(name); ok {
			list = append(list, titled{newMachine(m, ""), "The machine " + name})
		}
	}
	return render("machines", p.page("Machines", "machines", list))
}

// trouble renders an error page.
func (p Pages) trouble(what, remedy string) ([]byte, error) {
	return render("trouble", p.page(what, "", struct{ What, Remedy string }{what, remedy}))
}
