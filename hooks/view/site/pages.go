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

// Pages makes pages of one repository: as files that lie beside each other, or, Live, as
// the server's.
type Pages struct {
	Live       bool
	Repository string // its base name
	Version    string // of what the pages are made of
	// Now is when the source was looked at; of a report, the time of its newest step, so
	// that the same refs give the same pages.
	Now time.Time
	// Works are the directives whose work has a page; nil for all that have work.
	Works map[string]bool

	lifecycles map[string]template.HTML // pictures that are made, by what a unit is; nil keeps none
}

// works says whether a directive's work has a page.
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

// home is a page of the overview; more says that another follows.
func (p Pages) home(o *view.Overview, a ask) (data []byte, more bool, err error) {
	h, more := newHome(o, links{p.Live}, a, p.works(o))
	data, err = render("home", p.page(waitingWords(o), "home", h))
	return data, more, err
}

func (p Pages) directive(d *view.Directive) ([]byte, error) {
	return render("directive", p.page(d.Directive+" "+d.Title.String(), "", newDirective(d, links{p.Live}, p.Now)))
}

// until is when a page of a directive was looked at, where it says how long something has been
// so; zero where nothing of it goes on.
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

// lifecycle is the picture of where a unit can go from here.
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

// trouble is a page that says why there is no other.
func (p Pages) trouble(what, remedy string) ([]byte, error) {
	return render("trouble", p.page(what, "", struct{ What, Remedy string }{what, remedy}))
}
