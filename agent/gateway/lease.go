package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"git-ward/protocols/lease"
)

const (
	leasePath = "/ward/lease"
	// leaseTime bounds a question about leases, for which the host runs some git.
	leaseTime = time.Minute
)

// Lease is what this worker holds, nil for nothing. Base is the gateway's address for any of
// the protocols, such as "http://127.0.0.1:8080/anthropic".
func Lease(ctx context.Context, base string) (*lease.Lease, error) {
	var s lease.Standing
	_, err := lend(ctx, base, http.MethodGet, "", nil, &s)
	return s.Lease, err
}

// TakeLease asks the host for the first of some directives that this worker may have, in
// place of what it holds. The error is *lease.Refused where it may have none.
func TakeLease(ctx context.Context, base string, directives []string) (l lease.Lease, err error) {
	body, err := json.Marshal(directives)
	if err != nil {
		return l, err
	}
	var refused lease.Refused
	status, err := lend(ctx, base, http.MethodPut, "", body, &l, &refused)
	if err == nil && status == http.StatusConflict {
		err = &refused
	}
	return l, err
}

// ReleaseLease gives a directive back.
func ReleaseLease(ctx context.Context, base, directive string) error {
	_, err := lend(ctx, base, http.MethodDelete, "/"+directive, nil, &struct{}{})
	return err
}

// lend asks the host about leases. The answer goes into granted, and that of a conflict into
// refused, where one is expected.
func lend(ctx context.Context, base, method, of string, body []byte, granted any, refused ...any) (status int, err error) {
	u, err := url.Parse(base)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, u.ResolveReference(&url.URL{Path: leasePath + of}).String(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	data, status, err := answer(request)
	switch {
	case err != nil:
		return status, err
	case status == http.StatusConflict && len(refused) > 0:
		granted = refused[0]
	case status != http.StatusOK:
		return status, fmt.Errorf("the gateway's %s: status %d", leasePath, status)
	}
	return status, json.Unmarshal(data, granted)
}
