package fence

import (
	"encoding/json"
	"slices"

	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/probe"
)

// Surroundings tells a probe what it cannot find out from inside a container.
func Surroundings(policy *firewall.Policy) *probe.Surroundings {
	known := &probe.Surroundings{Bare: InsideBare, State: InsideState, Egress: string(policy.Mode), Connections: policy.Connections, Names: firewall.NameBurst}
	for _, a := range policy.HostAddrs {
		if !a.IsLoopback() && !a.IsLinkLocalUnicast() && !slices.Contains(known.Hosts, a.String()) {
			known.Hosts = append(known.Hosts, a.String())
		}
	}
	if len(policy.Resolvers) > 0 {
		known.Resolver = policy.Resolvers[0].String()
	}
	return known
}

// proveFirst makes a container try its fence before anything else runs in it.
func (f *Fence) proveFirst(s *podman.Spec) {
	if !f.prove {
		return
	}
	known, err := json.Marshal(Surroundings(&f.Policy))
	if err != nil {
		panic("a struct of texts cannot be written: " + err.Error())
	}
	s.First = append(s.First, "--probe", string(known))
	s.Proof = true
}
