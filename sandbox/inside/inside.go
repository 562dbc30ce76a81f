// Package inside is what runs in the fence in front of the payload: a forwarder
// from a loopback port to the gateway's socket, the variables that lead clients
// there, and the duties of a container's first process (SBX-7), one of which is to end
// with its launcher.
//
// It holds no secret and decides nothing: whatever runs beside it could dial
// the gateway's socket itself. All that is refused is refused by the gateway.
package inside

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"git-ward/sandbox/pod"
	"git-ward/sandbox/probe"
)

// dummyKey satisfies clients that require a key; the gateway drops it.
const dummyKey = "ward"

// notProved is the exit code of a container whose fence does not hold, so that nothing
// started. The launcher was told why and reports it.
const notProved = 2

// Payload is a command and the way to the gateway in front of it.
type Payload struct {
	Life string // socket of the launcher's, with which all of this ends; "" for none
	// Probe, if set, describes the fence to try before the payload starts; needs Life.
	Probe *probe.Surroundings
	// Note is the file that describes a pod's fence, see package pod. Nothing starts in a
	// network namespace other than the note's, and the probe tries what it refuses. "" where
	// the launcher makes the fence.
	Note    string
	Gateway string   // socket; "" for none, and then no forwarder
	Listen  string   // host:port of the forwarder, on loopback
	Proxy   bool     // also set the proxy variables, for allow-list mode
	Args    []string // the command
	// Assigned is a file from the launcher with the command's assignment, which was unknown
	// when the container was made; "" for none.
	Assigned string
	User     int    // the payload's user and group; 0: this process's own, with all its capabilities
	Dir      string // where it runs
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
}

// Run runs the command with the forwarder beside it and returns its exit code, or 128
// and the number of the signal that ended it. Signals are the payload's to answer,
// so there is no context that would end on one.
//
// The launcher hears of the end by its connection, too.
func Run(p Payload) (code int, err error) {
	if p.Note != "" {
		if err := p.heed(); err != nil {
			return 0, err
		}
	}
	if p.Life != "" {
		life, err := hold(p.Life)
		if err != nil {
			return 0, err
		}
		defer func() {
			if err == nil {
				probe.TellEnd(life, code) // else the launcher learns it from the container engine
			}
		}()
		if p.Probe != nil {
			if broken, err := life.prove(p.Probe); err != nil || broken != nil {
				if p.Note != "" { // a pod's log is where people look
					fmt.Fprintln(p.Stderr, "ward-inside: error:", errors.Join(broken, err))
					if broken != nil {
						return pod.NotHeld, nil
					}
				}
				return notProved, err
			}
		}
	}
	environ := os.Environ()
	if p.Assigned != "" {
		more, err := readAssignment(p.Assigned)
		if err != nil {
			return 0, err
		}
		p.Args, environ = append(slices.Clip(p.Args), more.Args...), append(environ, more.Env...)
	}
	if p.Gateway == "" {
		return p.run(environ)
	}
	if err := loopback(p.Listen); err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return 0, fmt.Errorf("the forwarder cannot listen: %w", err)
	}
	defer listener.Close()
	go forward(listener, p.Gateway)
	return p.run(Environ(environ, listener.Addr().String(), p.Proxy))
}

// loopback refuses to offer the gateway to other machines.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return errors.New("the forwarder listens on loopback only, such as 127.0.0.1:0")
	}
	return nil
}

// Environ is env with the variables that lead clients to the forwarder at
// address (host:port): the models' base URLs with keys that stand for none,
// and, where the fence has no other way out, the proxy.
func Environ(env []string, address string, proxy bool) []string {
	base := "http://" + address
	set := map[string]string{
		"ANTHROPIC_BASE_URL":   base + "/anthropic",
		"ANTHROPIC_API_KEY":    dummyKey,
		"ANTHROPIC_AUTH_TOKEN": "",
		"OPENAI_BASE_URL":      base + "/openai/v1",
		"OPENAI_API_KEY":       dummyKey,
		"OPENAI_ORG_ID":        "",
		"OPENAI_PROJECT_ID":    "",
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		value := ""
		switch {
		case proxy && name == "NO_PROXY":
			value = probe.Loopback
		case proxy && name != "ALL_PROXY":
			value = base
		}
		// Some clients read upper case, some lower.
		set[name], set[strings.ToLower(name)] = value, value
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, ours := set[name]
		return ours
	})
	for name, value := range set {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}
