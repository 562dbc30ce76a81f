package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// one requests one object of wire form W and converts it. make returns an error for missing
// members.
func one[W, T any](ctx context.Context, c *conn, q call, make func(W) (T, error)) (out T, err error) {
	a, err := c.ask(ctx, q)
	if err != nil {
		return out, err
	}
	var w W
	if err := json.Unmarshal(a.body, &w); err != nil {
		return out, &ErrAnswer{q.String(), err}
	}
	if out, err = make(w); err != nil {
		return out, &ErrAnswer{q.String(), err}
	}
	return out, nil
}

// list reads all pages of a listing. One that is too large is an error, or read in pages of one, as
// the call says.
func list[W, T any](ctx context.Context, c *conn, q call, make func(W) (T, error)) ([]T, error) {
	all, err := joined(ctx, c, q, make)
	if q.apart && errors.Is(err, ErrTooMuch) {
		return apart(ctx, c, q, make)
	}
	return all, err
}

// joined reads the pages of a listing into one.
func joined[W, T any](ctx context.Context, c *conn, q call, make func(W) (T, error)) ([]T, error) {
	q.method = http.MethodGet
	query := url.Values{c.more: {c.size}}
	for k, v := range q.query {
		query[k] = v
	}
	var all []T
	bytes := 0
	for range maxPages {
		q.query = query
		a, err := c.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		if bytes += len(a.body); bytes > maxAnswer {
			return nil, &ErrAnswer{q.String(), fmt.Errorf("%w: the listing has more than %d MiB", ErrTooMuch, maxAnswer>>20)}
		}
		page, err := entries(q, a.body, make)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if a.next == nil {
			return all, nil
		}
		query = a.next
	}
	return nil, &ErrAnswer{q.String(), fmt.Errorf("%w: the listing has more than %d pages", ErrTooMuch, maxPages)}
}

// entries converts the entries of a listing's page.
func entries[W, T any](q call, body []byte, make func(W) (T, error)) (all []T, err error) {
	var page []W
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, &ErrAnswer{q.String(), err}
	}
	if page == nil && !q.null {
		return nil, &ErrAnswer{q.String(), errors.New("it is null and no list")}
	}
	for _, w := range page {
		t, err := make(w)
		if err != nil {
			return nil, &ErrAnswer{q.String(), err}
		}
		all = append(all, t)
	}
	return all, nil
}

// apart reads a listing in pages of one. It leaves out an entry that is so large that maxPages of
// them would exceed maxAnswer.
func apart[W, T any](ctx context.Context, c *conn, q call, make func(W) (T, error)) (all []T, err error) {
	q.method = http.MethodGet
	query := maps.Clone(q.query)
	query.Set(c.more, "1")
	for page := range maxPages {
		query.Set("page", strconv.Itoa(page+1))
		q.query = query
		a, err := c.ask(ctx, q)
		if errors.Is(err, ErrTooMuch) || len(a.body) > maxAnswer/maxPages {
			continue
		}
		if err != nil {
			return nil, err
		}
		alone, err := entries(q, a.body, make)
		if err != nil {
			return nil, err
		}
		if len(alone) == 0 {
			return all, nil
		}
		all = append(all, alone...)
	}
	return nil, &ErrAnswer{q.String(), fmt.Errorf("%w: the listing has more than %d entries, and is too large", ErrTooMuch, maxPages)}
}

// do sends a request whose answer has no content.
func (c *conn) do(ctx context.Context, q call) error {
	_, err := c.ask(ctx, q)
	return err
}

// need collects the members that an answer lacks.
type need []string

func (n *need) have(ok bool, name string) {
	if !ok {
		*n = append(*n, name)
	}
}

func (n need) err(of string) error {
	if len(n) == 0 {
		return nil
	}
	return fmt.Errorf("%s in it has no usable %s", of, strings.Join(n, ", "))
}

// isCommit reports whether a text is a full commit id.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// isLogin reports whether a text can be an account or repository name on any of the forges. It
// is printed, compared and put into paths.
func isLogin(s string) bool {
	return s != "" && len(s) <= 255 && s != "." && s != ".." && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("-_.[]", r)
	})
}
