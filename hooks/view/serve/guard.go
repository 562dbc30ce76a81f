package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// policy is the content security policy of Ward's pages: only this server's own content.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded wraps every route in the checks for all requests.
func (s *Server) guarded() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers(w.Header())
		defer s.survive(w, r)
		if f := s.fault(r); f != nil {
			w.Header().Set("Connection", "close")
			s.refuse(w, f)
			return
		}
		s.route(w, r)
	})
}

func headers(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cross-Origin-Embedder-Policy": "require-corp",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
		"Cache-Control":                "no-store",
		"X-Robots-Tag":                 "noindex",
	} {
		h.Set(name, value)
	}
}

// survive answers a request whose handler panicked, and tells the owner where.
func (s *Server) survive(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	s.say.line("panic", fmt.Sprintf("serve failed at a request; please report this: %v %s", v, diag.Cut(string(debug.Stack()), 2000)))
	s.refuse(w, &fault{500, "This page failed", "The terminal where git ward serve runs says more."})
}

// A fault is why a request is not answered, in words for a person.
type fault struct {
	status      int
	title, text string
}

// path matches the raw paths of pages; none needs an escape.
var path = pattern.New(`^/([0-9A-Za-z][0-9A-Za-z._-]*(/[0-9A-Za-z][0-9A-Za-z._-]*)*)?$`)

// fault is the first thing that is wrong with a request, nil for none.
func (s *Server) fault(r *http.Request) *fault {
	raw, query, _ := strings.Cut(r.RequestURI, "?")
	switch {
	case len(r.RequestURI) > maxURI:
		return &fault{http.StatusRequestURITooLong, "Too long an address", "An address here has at most 2,048 characters."}
	case !s.names.ours(r):
		return &fault{http.StatusMisdirectedRequest, "Another name", "This server answers to " + s.names.url + " only. Through ssh -L use the same port on both sides."}
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		return &fault{http.StatusMethodNotAllowed, "Not possible here", "Pages are read by GET; nothing else is done here."}
	case r.Method != http.MethodPost && (r.ContentLength != 0 || len(r.TransferEncoding) > 0):
		return &fault{http.StatusBadRequest, "A body too many", "To read a page takes no body."}
	case !path.MatchString(raw):
		return &notFound
	case s.cross.Check(r) != nil || embedded(r):
		return &fault{http.StatusForbidden, "From another site", "Another site's page asked for this. Open the address yourself."}
	case !plainQuery(query):
		return &fault{http.StatusBadRequest, "Not a question", "What is behind the ? of this address cannot be read."}
	}
	return nil
}

var notFound = fault{http.StatusNotFound, "No such page", "There is nothing at this address."}

// embedded reports a request by another origin's page to embed ours, which is only allowed to
// be opened as a whole (fetch metadata).
func embedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// plainQuery reports whether a query is a few names and values of plain text.
func plainQuery(raw string) bool {
	query, err := url.ParseQuery(raw)
	if err != nil || len(query) > 16 {
		return false
	}
	for name, values := range query {
		if len(values) > 1 || !plainText(name) || !plainText(values[0]) {
			return false
		}
	}
	return true
}

func plainText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// pageFault returns the fault for an error of making a page.
func pageFault(err error) *fault {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &notFound
	case errors.Is(err, errGone):
		return &fault{http.StatusServiceUnavailable, "The repository is not there", "It cannot be read at the moment. This page asks again by itself."}
	case errors.Is(err, errBusy):
		return &fault{http.StatusServiceUnavailable, "Busy", "Too many pages are being made. This page asks again by itself."}
	}
	return &fault{http.StatusInternalServerError, "This page cannot be made", "The terminal where git ward serve runs says why. This page asks again by itself."}
}
