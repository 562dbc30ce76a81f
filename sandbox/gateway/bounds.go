package gateway

import (
	"time"
)

// Limits are the sizes, numbers and times of a gateway; zero values have defaults.
type Limits struct {
	Body      int64         // bytes of one request's body; 32 MiB
	Own       int64         // bytes of bodies and answers in memory at the same time that no other gateway takes; 16 MiB
	Bodies    int64         // bytes of them beyond that, of what all gateways share; 64 MiB
	Depth     int           // objects and arrays in one another in a body; 100
	Values    int           // names and values of a body, all levels together; 500,000
	Answer    int64         // bytes at which an answer is cut; 128 MiB
	MaxOutput int64         // output tokens of a call that names no limit; 32,000
	AtOnce    int           // model calls at the same time; 8
	Conns     int           // open connections of clients; 256
	Silence   time.Duration // of a provider before its first and between later bytes; 10 minutes
	Call      time.Duration // one model call as a whole; 1 hour
	Idle      time.Duration // of a proxied connection; 5 minutes
	Queue     time.Duration // how long a request waits for others whose bodies are in memory; 15 seconds
	Wait      time.Duration // how long a call may queue, or read its body, before the gateway looks again whether its unit is paused; 1 second
}

const (
	// maxMembers is how many members one object may have, of a request and of an answer, and
	// maxName how long one's name may be, in bytes: what a decoder keeps to see that none is
	// there twice.
	maxMembers = 4096
	maxName    = 4 << 10
	// maxEvent is the size in bytes of an event or an answer that is read for its usage;
	// larger ones pass and are charged by what was reserved. A model's longest answer has
	// about one megabyte.
	maxEvent = 4 << 20
	// smallEvent is the size in bytes from which on an event or an answer that is read has
	// its place in memory lent; where there is none it passes as a larger one does.
	smallEvent = 256 << 10
)

// withDefaults are no settings of config.toml. The sizes are what the providers
// themselves take (32 MiB a request, some 32,000 tokens an answer), and the times
// and numbers only end what hangs or floods: nobody's work comes near them, and
// what it may cost is bounded by [budget] in any case. A setting would be one more
// way to make a fence that does not end what hangs.
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
