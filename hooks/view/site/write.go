package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"iter"
	"runtime"
	"strconv"
	"sync"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/protocols/review"
)

// The limits of a report. It has the newest of each kind and names what it left out.
const (
	maxPages   = 10_000 // directives
	maxReviews = 200
	maxAudit   = 50 // pages of the audit
)

// A Report describes what Write wrote.
type Report struct {
	Pages int
	// Omitted says what the report lacks, and why.
	Omitted []string
}

// Write writes the pages of a source into a new directory, and renames that to the given name.
// It replaces an existing directory only if an earlier report made it and it has no other files.
// Pages whose facts are unchanged are kept; if all are, nothing is written. progress receives
// the number of pages so far; it may be nil.
func Write(ctx context.Context, dir string, source Source, progress func(pages int)) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var o *view.Overview
	var unseen error
	var looks sync.WaitGroup
	looks.Go(func() { o, unseen = source.Overview(ctx) }) // runs while newDirectory verifies the existing report
	d, err := newDirectory(dir)
	if err != nil {
		cancel()
		looks.Wait()
		return nil, err
	}
	defer d.under.Remove() // of a failed report, or the replaced one
	if looks.Wait(); unseen != nil {
		return nil, unseen
	}
	w := &writer{ctx: ctx, source: source, dir: d, progress: progress, facts: map[string]view.Facts{}}
	if err := w.all(o); err != nil {
		return nil, err
	}
	return &w.done, d.commit()
}

type writer struct {
	ctx      context.Context
	source   Source
	dir      *directory
	pages    Pages
	progress func(int)
	done     Report
	reviews  int
	beyond   int                     // directives beyond maxReviews, whose work has no page
	facts    map[string]view.Facts   // by directive
	works    *ahead[*review.Review]  // for the pages of work that must be rendered
	made     *ahead[*view.Directive] // for the directives' pages that must be rendered
}

func (w *writer) all(o *view.Overview) error {
	copied := *o
	o = &copied
	o.Host = nil // a report is kept, but what runs changes any moment
	if n := len(o.Directives) - maxPages; n > 0 {
		w.omit("%s: the oldest of %d", diag.Count(n, "directive"), len(o.Directives))
		o.Directives = o.Directives[n:]
	}
	w.pages = Pages{Repository: o.Repository, Works: map[string]bool{}, lifecycles: map[string]template.HTML{}}
	for _, d := range o.Directives {
		if d.Updated.After(w.pages.Now) {
			w.pages.Now = d.Updated
		}
	}
	if err := w.dir.put("style.css", Stylesheet); err != nil {
		return err
	}
	lines := sortLines(o.Directives)
	if err := w.look(lines); err != nil {
		return err
	}
	for _, l := range lines {
		if err := w.directive(l); err != nil {
			return err
		}
	}
	if w.beyond > 0 {
		w.omit("the work on %s more: a report has that of %d, those that wait first; git ward review D-n shows any", diag.Count(w.beyond, "directive"), maxReviews)
	}
	if err := errors.Join(w.home(o), w.audit()); err != nil {
		return err
	}
	page, err := w.pages.machines()
	return w.put("machines.html", page, err)
}

func (w *writer) omit(format string, args ...any) {
	w.done.Omitted = append(w.done.Omitted, fmt.Sprintf(format, args...))
}

// page counts a page and returns the context's error.
func (w *writer) page() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.done.Pages++; w.progress != nil {
		w.progress(w.done.Pages)
	}
	return nil
}

// put writes a page.
func (w *writer) put(name string, page []byte, err error) error {
	if err := cmp.Or(err, w.page()); err != nil {
		return err
	}
	return w.dir.put(name, page)
}

func (w *writer) home(o *view.Overview) error {
	for n := 1; ; n++ {
		page, more, err := w.pages.home(o, ask{Page: n})
		if err := w.put(numbered("index", n), page, err); err != nil || !more {
			return err
		}
	}
}

// directive writes a directive's page, its units' pages and its work's page, or keeps those
// with unchanged facts. Unreadable parts are named but stop nothing.
func (w *writer) directive(l view.Line) (err error) {
	name, facts := l.Directive, w.facts[l.Directive]
	works := l.Reviewable() && w.reviews < maxReviews
	stamp := stampOf(facts, works)
	kept := w.dir.stamped(name, stamp, w.pages.Now)
	var d *view.Directive
	if !kept {
		if d, err = w.made.get(w.ctx, name); err != nil {
			return w.unread(name, err)
		}
	}
	if works {
		w.reviews++
		works, err = w.work(name, facts.Review)
	} else if l.Reviewable() {
		w.beyond++
	}
	if err != nil {
		return err
	}
	w.pages.Works[name] = works
	if made := stampOf(facts, works); kept && made == stamp {
		return w.keep(name)
	}
	if kept { // the kept pages link to the work, but it can no longer be read
		if d, err = w.made.get(w.ctx, name); err != nil {
			return w.unread(name, err)
		}
	}
	d.Reviewable = works
	page, err := w.pages.directive(d)
	if err := w.put(name+".html", page, err); err != nil {
		return err
	}
	files := []string{name + ".html"}
	for _, u := range newest(d.Units, maxUnits) {
		page, err := w.pages.unit(d, u)
		if err := w.put(u.ID+".html", page, err); err != nil {
			return err
		}
		files = append(files, u.ID+".html")
	}
	w.dir.stamp(name, stampOf(facts, works), w.pages.until(d), files...)
	return nil
}

// unread writes a page that says that a directive cannot be read, and records it as omitted.
func (w *writer) unread(name string, why error) error {
	w.works.pass(w.ctx, name)
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	w.omit("%s, which cannot be read: %s", name, diag.Clean(why.Error()))
	page, err := w.pages.trouble(name+" cannot be read", "git ward fsck says what is wrong with it.")
	return w.put(name+".html", page, err)
}

// work writes or keeps the page of a directive's work; false means that there is none.
func (w *writer) work(name, facts string) (bool, error) {
	of := name + ".review"
	if w.dir.stamped(of, facts, time.Time{}) {
		return true, w.keep(of)
	}
	work, err := w.works.get(w.ctx, name)
	if err != nil {
		w.omit("the work on %s: %s", name, diag.Clean(err.Error()))
		return false, nil
	}
	page, err := w.pages.review(work)
	if err := w.put(of+".html", page, err); err != nil {
		return false, err
	}
	w.dir.stamp(of, facts, time.Time{}, of+".html")
	return true, nil
}

// keep keeps the existing pages of a stamp.
func (w *writer) keep(of string) error {
	for _, file := range w.dir.keep(of) {
		if err := w.page(); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// look reads each directive's facts and starts computing the reviews and directives whose pages must
// be rendered.
func (w *writer) look(lines []view.Line) (err error) {
	var work, pages []string
	reviews := 0
	for _, l := range lines {
		name := l.Directive
		if w.facts[name], err = w.source.Facts(w.ctx, name); err != nil {
			return err
		}
		works := l.Reviewable() && reviews < maxReviews
		if !w.dir.stamped(name, stampOf(w.facts[name], works), w.pages.Now) {
			pages = append(pages, name)
		}
		if !works {
			continue
		}
		if reviews++; !w.dir.stamped(name+".review", w.facts[name].Review, time.Time{}) {
			work = append(work, name)
		}
	}
	w.works = makeAhead(w.ctx, runtime.GOMAXPROCS(0), work, w.source.Reviews)
	w.made = makeAhead(w.ctx, 1, pages, func(ctx context.Context, names []string) iter.Seq2[*view.Directive, error] {
		return func(yield func(*view.Directive, error) bool) {
			for _, name := range names {
				if !yield(w.source.Directive(ctx, name)) {
					return
				}
			}
		}
	})
	return nil
}

// stampOf returns the stamp of a directive's pages; works says whether they link to a page of its work.
func stampOf(f view.Facts, works bool) string { return f.Directive + " " + strconv.FormatBool(works) }

func (w *writer) audit() error {
	var f view.Filter
	for n := 1; ; n++ {
		a, err := w.source.Audit(w.ctx, f)
		if err != nil {
			return err
		}
		last := a.Next == 0 || n == maxAudit
		page, err := w.pages.audit(a, view.Filter{}, auditPager(n, last))
		if err := w.put(numbered("audit", n), page, err); err != nil {
			return err
		}
		if last {
			if a.Next > 0 {
				w.omit("pushes before %d: git ward log has them", a.Next)
			}
			return nil
		}
		f.After = a.Next
	}
}

// auditPager links a page of a report's audit to its neighbours.
func auditPager(n int, last bool) *pager {
	p := &pager{Words: fmt.Sprintf("Page %d.", n)}
	if n > 1 {
		p.Before, p.BeforeWords = numbered("audit", n-1), "newer pushes"
	}
	if !last {
		p.After, p.AfterWords = numbered("audit", n+1), "older pushes"
	}
	if n == 1 && last {
		return nil
	}
	return p
}
