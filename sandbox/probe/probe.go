// Package probe tries, from inside a fence, everything that the fence promises
// to prevent (SBX-2, SBX-3, SBX-4, SBX-7), and the few things that it promises
// to allow. It believes no setting: each line is an attempt and how it ended.
package probe

import (
	"context"
	"time"
)

// Loopback are the names of the fence's own loopback, where its forwarder to the gateway listens,
// as NO_PROXY has them.
const Loopback = "127.0.0.1,::1,localhost"

// Surroundings is what the launcher tells a probe about the fence around it.
type Surroundings struct {
	Bare     string   `json:"bare"`     // the repository's mount
	State    string   `json:"state"`    // the writable volume
	Door     string   `json:"door"`     // socket
	Gateway  string   `json:"gateway"`  // socket
	Hosts    []string `json:"hosts"`    // the host's own addresses
	Resolver string   `json:"resolver"` // address, "" for none
	Egress   string   `json:"egress"`   // public or allowlist

	Connections int `json:"connections"`     // [egress] connections
	Names       int `json:"names,omitempty"` // how many names may be asked for at once

	// Refused are further HOST:PORT that a pod's agent may not reach over TCP: the gate, the
	// kubelet, the API server.
	Refused []string `json:"refused,omitempty"`
}

// Result is one attempt. Held means that the promise was kept; Detail is what
// happened, in words.
type Result struct {
	ID      string        `json:"id"` // the requirement
	Promise string        `json:"promise"`
	Held    bool          `json:"held"`
	Detail  string        `json:"detail"`
	Took    time.Duration `json:"took_ns"`
}

// group has the promises about one subject, in a file of that name.
type group struct {
	name string
	// before: tried in a container before anything else runs there, if the runtime is not the
	// default. Such an attempt changes nothing and needs neither door nor gateway.
	before   bool
	attempts func(*Surroundings) []attempt
}

// groups has all promises. A new promise needs a line here, and a file.
var groups = []group{
	{"network", true, network},
	{"packets", true, packets},
	{"privileges", true, privileges},
	{"files", true, files},
	{"life", false, life},
	{"services", false, services},
	{"names", false, names},
	{"connections", false, connections}, // it uses up a limit for a while
	{"models", false, models},
	{"watcher", false, watcher},
}

// attempt is a promise and how to try it. It returns what happened and whether the promise
// holds.
type attempt struct {
	id, promise string
	try         func(context.Context, *Surroundings) (held bool, detail string)
}

// Run tries everything and returns one result for each attempt.
func Run(ctx context.Context, p *Surroundings) (results []Result) {
	for _, g := range groups {
		for _, a := range g.attempts(p) {
			results = append(results, a.result(ctx, p))
		}
	}
	return results
}

func (a *attempt) result(ctx context.Context, p *Surroundings) Result {
	start := time.Now()
	held, detail := a.try(ctx, p)
	return Result{a.id, a.promise, held, detail, time.Since(start)}
}
