package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/internal/scratch"
	"git-ward/protocols/review"
)

// What a report holds at most, the newest of each; what is left out is said.
const (
	maxPages   = 2000 // directives
	maxReviews = 200
	maxAudit   = 50 // pages of the audit
)

// A Report is what Write wrote.
type Report struct {
	Pages int
	// Omitted says what is not there, and why.
	Omitted []string
}

// Write writes the pages of a source into a directory, which is made anew beside and then
// renamed. A directory that is there already is replaced only where an earlier report made
// it and nobody put anything else there. progress hears how many pages there are by now;
// it may be nil.
func Write(ctx context.Context, dir string, source Source, progress func(pages int)) (*Report, error) {
	d, err := newDirectory(dir)
	if err != nil {
		return nil, err
	}
	defer d.discard()
	w := &writer{ctx: ctx, source: source, dir: d, progress: progress}
	if err := w.all(); err != nil {
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
}

func (w *writer) all() error {
	o, err := w.source.Overview(w.ctx)
	if err != nil {
		return err
	}
	copied := *o
	o = &copied
	o.Host = nil // whether something runs is true for a moment, and a report is kept
	if n := len(o.Directives) - maxPages; n > 0 {
		w.omit("%s: the oldest of %d", diag.Count(n, "directive"), len(o.Directives))
		o.Directives = o.Directives[n:]
	}
	w.pages = Pages{Repository: o.Repository, Works: map[string]bool{}}
	for _, d := range o.Directives {
		if d.Updated.After(w.pages.Now) {
			w.pages.Now = d.Updated
		}
	}
	if err := w.dir.put("style.css", Stylesheet); err != nil {
		return err
	}
	for _, d := range sortLines(o.Directives) {
		if err := w.directive(d.Directive); err != nil {
			return err
		}
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

// put writes a page, and is where a report notices that it is to end.
func (w *writer) put(name string, page []byte, err error) error {
	if err := errors.Join(err, w.ctx.Err()); err != nil {
		return err
	}
	if w.done.Pages++; w.progress != nil {
		w.progress(w.done.Pages)
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

// directive writes a directive's page, those of its units, and that of its work. What
// cannot be read is named and stops nothing: a report of the others is worth having.
func (w *writer) directive(name string) error {
	d, err := w.source.Directive(w.ctx, name)
	if err != nil {
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		w.omit("%s, which cannot be read: %s", name, diag.Clean(err.Error()))
		page, err := w.pages.trouble(name+" cannot be read", "git ward fsck says what is wrong with it.")
		return w.put(name+".html", page, err)
	}
	var work *review.Review
	if d.Reviewable && w.reviews < maxReviews {
		w.reviews++
		if work, err = w.source.Review(w.ctx, name); err != nil {
			w.omit("the work on %s: %s", name, diag.Clean(err.Error()))
		}
	} else if d.Reviewable {
		w.omit("the work on %s: a report has that of %d directives; git ward review %s shows it", name, maxReviews, name)
	}
	d.Reviewable, w.pages.Works[name] = work != nil, work != nil
	page, err := w.pages.directive(d)
	if err := w.put(name+".html", page, err); err != nil {
		return err
	}
	for _, u := range newest(d.Units, maxUnits) {
		page, err := w.pages.unit(d, u)
		if err := w.put(u.ID+".html", page, err); err != nil {
			return err
		}
	}
	if work == nil {
		return nil
	}
	page, err = w.pages.review(work)
	return w.put(name+".review.html", page, err)
}

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

// auditPager leads from a page of a report's audit to its neighbours.
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

// manifest is the file by which a directory is known as a report's: it lists the others, as
// sha256sum does, after a line that sha256sum leaves out.
const (
	manifest     = "ward-report.txt"
	manifestHead = "# git ward report replaces this directory as long as its files are these\n"
)

// A directory is a report's under way: beside the one that it becomes.
type directory struct {
	path  string // that it becomes
	under *scratch.Dir
	temp  string // in it
	mode  os.FileMode
	sums  map[string]string
}

// newDirectory makes the directory beside path, or says why path cannot be replaced.
func newDirectory(path string) (*directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := replaceable(path); err != nil {
		return nil, err
	}
	under, err := scratch.Make(filepath.Dir(path), "report-")
	if err != nil {
		return nil, diag.Hint(err, "name a directory in one that you may write to")
	}
	d := &directory{path: path, under: under, mode: 0o755, temp: filepath.Join(under.Path, "report"), sums: map[string]string{}}
	if info, err := os.Stat(path); err == nil { // who may look in is its owner's to say
		d.mode = info.Mode().Perm()
	}
	if err := os.Mkdir(d.temp, 0o700); err != nil {
		return nil, errors.Join(err, under.Remove())
	}
	return d, nil
}

func (d *directory) put(name string, data []byte) error {
	d.sums[name] = sumOf(data)
	return os.WriteFile(filepath.Join(d.temp, name), data, 0o644)
}

// discard removes what did not become a report, and the one whose place it took.
func (d *directory) discard() {
	d.under.Remove()
}
