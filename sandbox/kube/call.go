package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// Away means that the API server could not be reached. All that helps is to ask again.
type Away struct{ Err error }

func (a *Away) Error() string { return a.Err.Error() }
func (a *Away) Unwrap() error { return a.Err }

// Status is the API server's refusal: a Status object of Kubernetes.
type Status struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (s *Status) Error() string { return fmt.Sprintf("%s (%d %s)", s.Message, s.Code, s.Reason) }

// is reports whether an error is the API server's with that code.
func is(err error, code int) bool {
	var s *Status
	return errors.As(err, &s) && s.Code == code
}

const (
	// callTime bounds one request; a watch sets its own time.
	callTime = 30 * time.Second
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 32 << 20
)

// The kinds that a launch uses, as in the API's paths.
const (
	jobs            = "/apis/batch/v1/namespaces/%s/jobs"
	pods            = "/api/v1/namespaces/%s/pods"
	secrets         = "/api/v1/namespaces/%s/secrets"
	configMaps      = "/api/v1/namespaces/%s/configmaps"
	events          = "/api/v1/namespaces/%s/events"
	networkPolicies = "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies"
)

// collections are the API paths of the kinds.
var collections = map[string]string{"Job": jobs, "Secret": secrets, "ConfigMap": configMaps, "NetworkPolicy": networkPolicies}

// path is the API path of a kind, or of one object of it, in this namespace.
func (c *Cluster) path(kind, name string, query url.Values) string {
	p := fmt.Sprintf(kind, url.PathEscape(c.Namespace))
	if name != "" {
		p += "/" + name
	}
	if len(query) > 0 {
		p += "?" + query.Encode()
	}
	return p
}

// call sends a request and decodes the answer into out, which may be nil. The error is a
// *Status or an *Away.
func (c *Cluster) call(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	answer, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	data, err := io.ReadAll(io.LimitReader(answer, maxAnswer+1))
	switch {
	case err != nil:
		return c.away(err)
	case len(data) > maxAnswer:
		return fmt.Errorf("the API server answers %s with more than %d MiB", method, maxAnswer>>20)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("the API server's answer is none: %w", err)
	}
	return nil
}

// send sends a request and returns a successful answer's body.
func (c *Cluster) send(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	var text io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(data)
	}
	ask, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, text)
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		ask.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := c.http.Do(ask)
	if err != nil {
		return nil, c.away(err)
	}
	if answer.StatusCode < 300 {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	return nil, c.refusal(answer)
}

// refusal is the error for an unsuccessful answer, by the API server or by a kubectl that
// cannot reach it.
func (c *Cluster) refusal(answer *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	s := &Status{}
	if json.Unmarshal(data, s) != nil || s.Code == 0 {
		s = &Status{Code: answer.StatusCode, Reason: http.StatusText(answer.StatusCode), Message: strings.TrimSpace(string(data))}
	}
	s.Message, s.Reason = diag.Clean(diag.CutWord(s.Message, 1000)), diag.Clean(diag.Cut(s.Reason, 100))
	switch {
	case s.Code == http.StatusTooManyRequests || s.Code >= 500:
		return c.away(s)
	case s.Code == http.StatusUnauthorized || s.Code == http.StatusForbidden:
		return &Denied{diag.Hint(s, "the launcher's user of the cluster needs the Role of docs/cluster.md in the namespace %s: `kubectl auth can-i --list -n %s` says what it has", c.Namespace, c.Namespace)}
	}
	return s
}

// Denied means that the launcher's cluster user may not do it, or that the cluster's admission
// refuses the object; both have the same code.
type Denied struct{ Err error }

func (d *Denied) Error() string { return d.Err.Error() }
func (d *Denied) Unwrap() error { return d.Err }
