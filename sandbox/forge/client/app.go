package client

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"git-ward/internal/diag"
	"git-ward/sandbox/gateway"
)

// App is a GitHub App, which gives the verdict as a check run of its own. A rule of a branch can
// be pinned to the app, and then nobody else's status of that name counts.
type App struct {
	ID  int64
	Key *rsa.PrivateKey
}

// ReadApp reads an app's private key as GitHub gives it, from a file that only its owner may read.
func ReadApp(id int64, file string) (*App, error) {
	data, err := gateway.ReadPrivate(file)
	if err != nil {
		return nil, err
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(data)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%s has no private key of an app", file), "make one on the app's page on GitHub, under Private keys")
	}
	return &App{id, key}, nil
}

const (
	// proofTime is how long an app's proof of itself holds. GitHub takes ten minutes at most, by its
	// own clock.
	proofTime = 8 * time.Minute
	// clockError is how far this machine's clock may be ahead of GitHub's, or behind it.
	clockError = time.Minute
)

// runs makes check runs with the app's tokens, each of which GitHub takes for an hour.
type runs struct {
	*conn           // with the app's token for this project
	proven    *conn // with the app's proof of itself
	app       *App
	name      string // the project's, without its owner
	self      func(context.Context) (Person, error)
	installed int64 // the app's installation in the project

	mu    sync.Mutex
	token gateway.Key
	until time.Time
}

func newRuns(c Config, api *url.URL, as func(http.Header, string), h *hub) *runs {
	r := &runs{app: c.App, name: c.Name, self: h.me}
	r.proven = newConn(c, api, func(h http.Header) { as(h, r.proof()) })
	r.conn = newConn(c, api, func(h http.Header) { as(h, r.token.Reveal()) })
	r.conn.scrub = func(text string) string { return r.token.Scrub(text) } // a proof is never answered
	r.conn.at, r.proven.at = h.at, h.at
	return r
}

// proof is the app's proof of itself, "" if the key cannot sign, which GitHub refuses then.
func (r *runs) proof() string {
	now := r.now()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: strconv.FormatInt(r.app.ID, 10), IssuedAt: jwt.NewNumericDate(now.Add(-clockError)), ExpiresAt: jwt.NewNumericDate(now.Add(proofTime)),
	}).SignedString(r.app.Key)
	if err != nil {
		return ""
	}
	return signed
}

// ready sees to a token that holds for this project's check runs alone.
func (r *runs) ready(ctx context.Context) error {
	if r.now().Before(r.until.Add(-clockError)) {
		return nil
	}
	if r.installed == 0 {
		q := r.proven.get("/installation")
		q.right = "to be an app that is installed in the project"
		type answer struct {
			ID int64 `json:"id"`
		}
		at, err := one(ctx, r.proven, q, func(a answer) (int64, error) {
			var n need
			n.have(a.ID > 0, "id")
			return a.ID, n.err("the installation")
		})
		if errors.Is(err, ErrNotFound) {
			return diag.Hint(fmt.Errorf("the app %d is not installed in the project: %w", r.app.ID, err), "install it there, from the app's page on GitHub")
		} else if err != nil {
			return err
		}
		r.installed = at
	}
	type answer struct {
		Token string    `json:"token"`
		Until time.Time `json:"expires_at"`
	}
	body := map[string]any{"repositories": []string{r.name}, "permissions": map[string]string{"checks": "write"}}
	q := call{method: http.MethodPost, path: fmt.Sprintf("/app/installations/%d/access_tokens", r.installed), body: body, right: "checks: write"}
	_, err := one(ctx, r.proven, q, func(a answer) (answer, error) {
		key, err := gateway.NewKey(a.Token)
		var n need
		n.have(err == nil && !key.IsZero(), "token")
		n.have(a.Until.After(r.now()), "expires_at")
		if err := n.err("the app's token"); err != nil {
			return answer{}, err
		}
		r.token, r.until = key, a.Until
		return answer{}, nil
	})
	if err != nil {
		r.installed = 0 // it may have been removed, and installed anew
	}
	return err
}

// asApp makes a call with the app's token; with a new one, if GitHub no longer takes that.
func (r *runs) asApp(ctx context.Context, call func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for again := false; ; again = true {
		err := r.ready(ctx)
		if denied, _ := errors.AsType[*ErrDenied](err); denied != nil {
			return diag.Hint(fmt.Errorf("the app %d: %w", r.app.ID, err), "see whether forge.app is the app's id, its permission Checks is read and write, and accepted in the project; else make a new private key, and put it into the file of forge.app_key_file")
		} else if err != nil {
			return err
		}
		err = call()
		denied, _ := errors.AsType[*ErrDenied](err)
		switch {
		case denied == nil:
			return err
		case denied.Right != NotTaken || again:
			return diag.Hint(fmt.Errorf("the app %d: %w", r.app.ID, err), "on the app's page give it the permission Checks: read and write, and accept it in the project")
		}
		r.until = time.Time{}
	}
}

// ends are the ends of a check run for the states of a Status that are one. GitHub asks a person
// to look at one that requires action.
var ends = map[string]string{"success": "success", "failure": "failure", "error": "action_required"}

// wireRun is a check run.
type wireRun struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Head   string `json:"head_sha"`
	Status string `json:"status"`
	End    string `json:"conclusion"`
	URL    string `json:"details_url"`
	Output struct {
		Title string `json:"title"`
	} `json:"output"`
	App struct {
		ID int64 `json:"id"`
	} `json:"app"`
}

// into is the run as a status. It is Ward's if it is the app's.
func (r *runs) into(w wireRun, self Person) (numbered, error) {
	var n need
	n.have(w.ID > 0, "id")
	n.have(w.Name != "", "name")
	n.have(w.Status != "", "status")
	s := Status{Context: w.Name, State: "pending", Description: diag.Untrusted(w.Output.Title), URL: w.URL}
	if w.Status == "completed" {
		s.State = w.End
		for state, end := range ends {
			if end == w.End {
				s.State = state
			}
		}
	}
	if w.App.ID == r.app.ID {
		s.By = self
	}
	return numbered{w.ID, s}, n.err("the check run")
}

// statuses are the app's check runs of a commit, the newest first.
func (r *runs) statuses(ctx context.Context, commit string) (list []Status, err error) {
	self, err := r.self(ctx)
	if err != nil {
		return nil, err
	}
	type answer struct {
		Runs []wireRun `json:"check_runs"`
	}
	q := r.get("/commits/%s/check-runs", commit)
	q.right = "checks: read"
	q.query = url.Values{"app_id": {strconv.FormatInt(r.app.ID, 10)}, "per_page": {"100"}} // of each name the latest
	err = r.asApp(ctx, func() (err error) {
		list, err = one(ctx, r.conn, q, func(a answer) ([]Status, error) {
			var all []numbered
			var wrong error
			for _, w := range a.Runs {
				s, err := r.into(w, self)
				all, wrong = append(all, s), errors.Join(wrong, err)
			}
			return newestFirst(all), wrong
		})
		return err
	})
	return list, err
}

// set makes a check run, which stands for the earlier ones of its name.
func (r *runs) set(ctx context.Context, commit string, s Status) error {
	words := s.Description.Lines()
	body := map[string]any{"name": s.Context, "head_sha": commit, "status": "in_progress", "output": map[string]string{"title": words, "summary": words}}
	if end := ends[s.State]; end != "" {
		body["status"], body["conclusion"] = "completed", end
	}
	if s.URL != "" {
		body["details_url"] = s.URL
	}
	return r.asApp(ctx, func() error {
		_, err := one(ctx, r.conn, r.send(http.MethodPost, "checks: write", body, "/check-runs"), func(w wireRun) (numbered, error) {
			got, err := r.into(w, Person{})
			if err == nil && (got.Context != s.Context || got.State != s.State || w.Head != commit || w.App.ID != r.app.ID) {
				err = fmt.Errorf("it is %q of %q by app %d, and was given %q of %q", got.State, diag.Clean(got.Context), w.App.ID, s.State, s.Context)
			}
			return got, err
		})
		return err
	})
}
