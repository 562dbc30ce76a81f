package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/pattern"
	"git-ward/sandbox/gateway"
)

const (
	// callTime is how long one call may take.
	callTime = 30 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes: Gitea lists all comments at once.
	maxAnswer = 32 << 20
	// maxPages bounds a listing. A longer one is an error; no partial listing is returned.
	maxPages = 100
	// pause is the back-off after an error for which the forge names no time.
	pause = time.Minute
	// maxPause is the longest back-off, whatever the forge says.
	maxPause = 6 * time.Hour
)

// conn is a forge's API.
type conn struct {
	base  *url.URL // without a trailing slash
	at    string   // the project's path in it
	http  *http.Client
	now   func() time.Time
	auth  func(http.Header)
	scrub func(string) string
	kept  kept
	// more names the query parameter for the page size, and its value.
	more, size string
}

func newConn(c Config, base *url.URL, auth func(http.Header)) *conn {
	out := &conn{base: base, http: &http.Client{}, now: c.Now, auth: auth, scrub: c.Token.Scrub}
	if c.HTTP != nil {
		out.http.Transport = c.HTTP.Transport
	}
	// On a redirect the standard client would send headers along, the token too.
	out.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if out.now == nil {
		out.now = time.Now
	}
	return out
}

// call is one request: its method and its escaped path.
type call struct {
	method, path string
	query        url.Values
	body         any
	right        string      // the right that the token needs
	null         bool        // null is an empty listing
	apart        bool        // a listing whose entries do not depend on each other: strangers can make one of them large
	secret       gateway.Key // in the body, so that no error repeats it
}

// get reads something of the project, by a path relative to it.
func (c *conn) get(format string, args ...any) call {
	return call{method: http.MethodGet, path: c.at + fmt.Sprintf(format, args...)}
}

// send changes something of the project.
func (c *conn) send(method, right string, body any, format string, args ...any) call {
	return call{method: method, path: c.at + fmt.Sprintf(format, args...), body: body, right: right}
}

// String names a call as a person looks it up in the forge's manual.
func (c call) String() string { return c.method + " " + c.path }

// answered is a successful answer.
type answered struct {
	body []byte
	next url.Values // the query of the listing's next page, "" at its end
}

// ask sends one request.
func (c *conn) ask(ctx context.Context, q call) (answered, error) {
	bound, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	request, err := c.request(bound, q)
	if err != nil {
		return answered{}, err
	}
	var before *known
	if q.method == http.MethodGet {
		if before = c.kept.get(request.URL.String()); before != nil {
			request.Header.Set("If-None-Match", before.tag)
		}
	}
	failpoint.Reach("forge/asks")
	answer, err := c.http.Do(request)
	if err != nil {
		return answered{}, c.away(ctx, q, err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	failpoint.Reach("forge/answered")
	switch {
	case err != nil:
		return answered{}, c.away(ctx, q, fmt.Errorf("the answer breaks off: %w", err))
	case len(data) > maxAnswer:
		return answered{}, &ErrAnswer{q.String(), fmt.Errorf("%w: more than %d MiB", ErrTooMuch, maxAnswer>>20)}
	case answer.StatusCode == http.StatusNotModified && before != nil:
		return before.answered, nil
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return answered{}, c.refusal(q, answer, data)
	}
	out := answered{body: data}
	if len(data) > 0 {
		if err := isJSON(answer.Header); err != nil {
			return answered{}, &ErrAnswer{q.String(), err}
		}
	}
	if q.method == http.MethodGet {
		out.next = next(answer.Header)
		c.kept.put(request.URL.String(), answer.Header.Get("Etag"), out)
	}
	return out, nil
}

func (c *conn) request(ctx context.Context, q call) (*http.Request, error) {
	var body io.Reader
	if q.body != nil {
		data, err := json.Marshal(q.body, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q, err)
		}
		body = bytes.NewReader(data)
	}
	at := c.base.String() + q.path
	if len(q.query) > 0 {
		at += "?" + q.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, q.method, at, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "git-ward")
	c.auth(request.Header)
	return request, nil
}

// away is the error for an unreachable forge. If the caller cancelled, it returns the caller's
// error.
func (c *conn) away(ctx context.Context, q call, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", q, ctx.Err())
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the call names the URL already
	}
	return &ErrLater{Call: q.String(), At: c.now().Add(pause), Err: err}
}

// isJSON checks an answer's type: a web page from a proxy or portal on the way is no answer.
func isJSON(h http.Header) error {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return fmt.Errorf("it is %q and no JSON; whoever stands between may have answered in the forge's place", diag.Clean(diag.Cut(h.Get("Content-Type"), 80)))
	}
	return nil
}

// next is the query of the next page, from the answer's links. The link's host and path are
// ignored, so that a forge cannot redirect the token.
func next(h http.Header) url.Values {
	for _, line := range h.Values("Link") {
		for _, link := range strings.Split(line, ",") {
			target, rest, ok := strings.Cut(strings.TrimSpace(link), ">")
			if !ok || !strings.HasPrefix(target, "<") || !strings.Contains(rest, `rel="next"`) {
				continue
			}
			if u, err := url.Parse(target[1:]); err == nil && u.RawQuery != "" {
				return u.Query()
			}
		}
	}
	return nil
}

// ofOne are the paths of a single issue or request. Trouble there may concern it alone, and
// the others continue. An unreachable forge is noticed at a turn's first call.
var ofOne = pattern.New(`/(issues|pulls|merge_requests)/[0-9]+(/|$)`)

// giteaLater is what Gitea says of a merge as long as it looks in the background whether that can be
// made, and of one that cannot.
const giteaLater = "Please try again later"

// refusal is the error of an answer that is no success.
func (c *conn) refusal(q call, answer *http.Response, data []byte) error {
	var text struct {
		Message any    `json:"message"` // in GitLab these may be objects
		Error   any    `json:"error"`
		Errors  any    `json:"errors"`
		Help    string `json:"documentation_url"`
	}
	words := ""
	if isJSON(answer.Header) == nil && json.Unmarshal(data, &text) == nil {
		for _, part := range []any{text.Message, text.Error, text.Errors} {
			if part != nil {
				words = strings.TrimSpace(words + " " + fmt.Sprint(part))
			}
		}
	}
	its := c.words(q.secret.Scrub(words))
	h := answer.Header
	limited := h.Get("Retry-After") != "" || h.Get("X-Ratelimit-Remaining") == "0" || strings.Contains(text.Help, "rate-limit")
	switch code := answer.StatusCode; {
	case code >= 500 && !limited && ofOne.MatchString(q.path):
		return &ErrAnswer{q.String(), fmt.Errorf("%d %s%s", code, http.StatusText(code), said(its))}
	case code == http.StatusTooManyRequests, code >= 500, code == http.StatusForbidden && limited:
		return &ErrLater{Call: q.String(), At: c.later(h), Err: fmt.Errorf("%d %s%s", code, http.StatusText(code), said(its))}
	case code == http.StatusMethodNotAllowed && strings.EqualFold(words, giteaLater):
		return &ErrLater{Call: q.String(), At: c.later(h), Err: fmt.Errorf("%d %s%s", code, http.StatusText(code), said(its)), One: true}
	case code >= 300 && code < 400 && h.Get("Location") == "":
		return &ErrAnswer{q.String(), fmt.Errorf("%d was not asked for", code)}
	case code >= 300 && code < 400:
		return &ErrMoved{q.String(), diag.Untrusted(c.scrub(h.Get("Location")))}
	case code == http.StatusUnauthorized:
		return &ErrDenied{q.String(), NotTaken, its}
	case code == http.StatusForbidden:
		return &ErrDenied{q.String(), right(q, h), its}
	case code == http.StatusNotFound, code == http.StatusGone:
		return fmt.Errorf("%s: %w%s", q, ErrNotFound, said(its))
	default:
		return &ErrConflict{q.String(), code, its}
	}
}

// words is the forge's own text, without the token in case it repeats that.
func (c *conn) words(text string) diag.Untrusted {
	return diag.Untrusted(diag.CutWord(c.scrub(text), 1000))
}

// right is the right that a call lacked, in GitHub's words.
func right(q call, h http.Header) string {
	for _, name := range []string{"X-Accepted-Github-Permissions", "X-Accepted-Oauth-Scopes"} {
		if v := h.Get(name); v != "" {
			return diag.Clean(diag.Cut(v, 200))
		}
	}
	if q.right == "" {
		return "to read the project"
	}
	return q.right
}

// later is when the forge may be called again by its answer: seconds, a date, or the reset of
// its rate limit.
func (c *conn) later(h http.Header) time.Time {
	now := c.now()
	at := now.Add(pause)
	if text := h.Get("Retry-After"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
			at = now.Add(time.Duration(n) * time.Second)
		} else if date, err := http.ParseTime(text); err == nil {
			at = date
		}
	} else if n, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil && h.Get("X-Ratelimit-Remaining") == "0" {
		at = time.Unix(n, 0)
	}
	if at.Before(now) {
		at = now
	}
	if last := now.Add(maxPause); at.After(last) {
		at = last
	}
	return at
}
