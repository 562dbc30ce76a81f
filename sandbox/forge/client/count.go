package client

import (
	"net/http"
	"sync/atomic"
)

// Counter counts the calls of a client, as its Config's transport.
type Counter struct{ calls, unchanged atomic.Int64 }

// RoundTrip makes a call by Go's own transport.
func (c *Counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusNotModified {
		c.unchanged.Add(1)
	}
	return answer, err
}

// Take is how many calls were made since it was taken last, and how many of them the forge answered
// by saying that nothing changed. A nil Counter has none.
func (c *Counter) Take() (calls, unchanged int64) {
	if c == nil {
		return 0, 0
	}
	return c.calls.Swap(0), c.unchanged.Swap(0)
}
