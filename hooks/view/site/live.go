package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/protocols/review"
)

// A Source has the data of the pages; view.Source is one.
type Source interface {
	Version(ctx context.Context) (string, error)
	Overview(ctx context.Context) (*view.Overview, error)
	Directive(ctx context.Context, name string) (*view.Directive, error)
	Review(ctx context.Context, name string) (*review.Review, error)
	// Reports also call Reviews, which yields the reviews of some directives in this order, and
	// Facts, which hashes what a directive's pages are made from.
	Reviews(ctx context.Context, names []string) iter.Seq2[*review.Review, error]
	Facts(ctx context.Context, name string) (view.Facts, error)
	Audit(ctx context.Context, f view.Filter) (*view.AuditPage, error)
}

// A Server makes pages by path, each anew from the source.
type Server struct{ source Source }

// Live returns a server of a source's pages.
func Live(source Source) *Server { return &Server{source} }

// Close does nothing, because whoever opened the source closes it.
func (s *Server) Close() {}

// Version returns a string that changes whenever a page may have changed.
func (s *Server) Version(ctx context.Context) (string, error) { return s.source.Version(ctx) }

// Page renders the page of a path and query; the error is fs.ErrNotExist if there is none. It looks
// names in a path up in the source's lists and never passes them on.
func (s *Server) Page(ctx context.Context, path string, query url.Values) ([]byte, error) {
	version, err := s.source.Version(ctx)
	if err != nil {
		return nil, err
	}
	o, err := s.source.Overview(ctx)
	if err != nil {
		return nil, err
	}
	p := Pages{Live: true, Repository: o.Repository, Version: version, Now: o.Time}
	switch rest, below := strings.CutPrefix(path, "/d/"); {
	case path == "/":
		data, _, err := p.home(o, askOf(query))
		return data, err
	case path == "/machines":
		return p.machines()
	case path == "/audit":
		return s.audit(ctx, p, query)
	case below:
		return s.directivePage(ctx, p, o, rest)
	}
	return nil, fs.ErrNotExist
}

// directivePage renders a page of a directive: D-1, D-1/2 for a unit, or D-1/review.
func (s *Server) directivePage(ctx context.Context, p Pages, o *view.Overview, path string) ([]byte, error) {
	asked, part, _ := strings.Cut(path, "/")
	name := ""
	for _, d := range o.Directives {
		if d.Directive == asked {
			name = d.Directive
		}
	}
	if name == "" {
		return nil, fs.ErrNotExist
	}
	if part == "review" {
		r, err := s.source.Review(ctx, name)
		if errors.Is(err, view.ErrUnknown) {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
		return p.review(r)
	}
	d, err := s.source.Directive(ctx, name)
	if err != nil {
		return nil, err
	}
	if part == "" {
		return p.directive(d)
	}
	for _, u := range d.Units {
		if u.ID == name+"."+part {
			return p.unit(d, u)
		}
	}
	return nil, fs.ErrNotExist
}

func (s *Server) audit(ctx context.Context, p Pages, query url.Values) ([]byte, error) {
	f := view.Filter{Who: word(query, "who"), Verdict: word(query, "verdict"), Ref: word(query, "ref"), Rule: word(query, "rule"), Directive: word(query, "directive")}
	f.After, _ = strconv.ParseInt(word(query, "after"), 10, 64)
	a, err := s.source.Audit(ctx, f)
	if err != nil {
		return nil, err
	}
	var pages *pager
	link := func(after int64) string {
		return asked("/audit", "who", f.Who, "verdict", f.Verdict, "ref", f.Ref, "rule", f.Rule, "directive", f.Directive, "after", fmt.Sprint(after))
	}
	if a.Next > 0 || f.After > 0 {
		pages = &pager{Words: "A page has at most 100 pushes."}
	}
	if f.After > 0 {
		pages.Before, pages.BeforeWords = strings.Replace(link(0), "after=0", "", 1), "the newest"
	}
	if a.Next > 0 {
		pages.After, pages.AfterWords = link(a.Next), "older pushes"
	}
	f.After = 0
	return p.audit(a, f, pages)
}

// askOf parses a query to the overview.
func askOf(query url.Values) ask {
	n, _ := strconv.Atoi(word(query, "page"))
	return ask{Search: word(query, "q"), State: word(query, "state"), Page: min(max(1, n), 1_000_000)}
}

// word returns a value of a query, cleaned and cut to 200 bytes, because the form shows it again.
func word(query url.Values, name string) string {
	return diag.Clean(cutAt(query.Get(name), 200))
}
