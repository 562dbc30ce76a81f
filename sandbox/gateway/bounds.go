package gateway

import (
	"time"
)

// Limits are the sizes, numbers and times of a gateway; zero values have defaults.
type Limits struct {
	Body      int64         // bytes of one request's body; 32 MiB
	Own       int64         // bytes of bodies and answers in memory that belong to this gateway alone; 16 MiB
	Bodies    int64         // bytes beyond that, shared by all gateways; 64 MiB
	Depth     int           // nesting depth of a body; 100
	Values    int           // names and values of a body in total; 500,000
	Answer    int64         // bytes at which an answer is cut; 128 MiB
	MaxOutput int64         // output tokens of a call that names no limit; 32,000
	AtOnce    int           // model calls at the same time; 8
	Conns     int           // open connections of clients; 256
	Silence   time.Duration // a provider's silence before its first and between later bytes; 10 minutes
	Call      time.Duration // one model call as a whole; 1 hour
	Idle      time.Duration // of a proxied connection; 5 minutes
	Queue     time.Duration // how long a request waits for memory; 15 seconds
	Wait      time.Duration // how often a waiting call checks that its unit is not paused; 1 second
}

const (
	// maxMembers bounds an object's members in requests and answers, and maxName a member's
	// name in bytes, because a decoder keeps the names to find duplicates.
	maxMembers = 4096
	maxName    = 4 << 10
	// maxEvent is the largest event or answer, in bytes, that is parsed for its usage. Larger
	// ones pass and are charged as reserved. A model's longest answer has about a megabyte.
	maxEvent = 4 << 20
	// smallEvent is the size in bytes from which an event or answer borrows memory to be
	// parsed; if there is none, it passes like one that is too large.
	smallEvent = 256 << 10
)

// withDefaults are not settings in config.toml. The sizes are the providers' own limits (32
// MiB a request, some 32,000 tokens an answer). The times and numbers only end what hangs or
// floods; no work comes near them, and [budget] bounds its cost anyway. As settings they could
// only weaken the fence.
func (l Limits) withDefaults() Limits {
	orDefault(&l.Body, 32<<20)
	orDefault(&l.Own, 16<<20)
	orDefault(&l.Bodies, 64<<20)
	orDefault(&l.Depth, 100)
	orDefault(&l.Values, 500_000)
	orDefault(&l.Answer, 128<<20)
	orDefault(&l.MaxOutput, 32_000)
	orDefault(&l.AtOnce, 8)
	orDefault(&l.Conns, 256)
	orDefault(&l.Silence, 10*time.Minute)
	orDefault(&l.Call, time.Hour)
	orDefault(&l.Idle, 5*time.Minute)
	orDefault(&l.Queue, 15*time.Second)
	orDefault(&l.Wait, time.Second)
	return l
}

func orDefault[T int | int64 | time.Duration](at *T, that T) {
	if *at <= 0 {
		*at = that
	}
}
