package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"git-ward/sandbox/podman"
)

// packagesOf is the command that installs a network backend.
func packagesOf(backend string) string {
	if backend == podman.CNI {
		return "apt-get install containernetworking-plugins iptables"
	}
	return "apt-get install netavark iptables"
}

// network checks the programs that make a rootful container's bridge. Podman has two backends
// and keeps the one that it chose first.
func (e *examiner) network(backend string, s *podman.NetworkSettings) {
	const thing = "podman's network"
	if backend == "" {
		backend = podman.CNI // older podman reports none and has only this one
	}
	if lacks := s.Lacks(backend); len(lacks) > 0 {
		e.add(thing, Missing, packagesOf(backend), "the backend is %s, and these of it are not installed: %s", backend, strings.Join(lacks, ", "))
		return
	}
	name := cmp.Or(s.Network.Default, "podman")
	text, err := e.output("podman", "network", "inspect", name)
	var found []podmanNetwork
	if err == nil {
		err = json.Unmarshal([]byte(text), &found)
	}
	if err != nil || len(found) != 1 {
		e.add(thing, Missing, fmt.Sprintf("podman network create %s", name), "the backend is %s, and its network %s cannot be read: %v", backend, name, err)
		return
	}
	e.add(thing, Fine, "", "%s", found[0].says(backend))
}

// podmanNetwork is the part of `podman network inspect` that is read.
type podmanNetwork struct {
	Name      string `json:"name"`
	Interface string `json:"network_interface"`
	Subnets   []struct {
		Subnet string `json:"subnet"`
	} `json:"subnets"`
}

func (n *podmanNetwork) says(backend string) string {
	var subnets []string
	six := false
	for _, s := range n.Subnets {
		subnets = append(subnets, s.Subnet)
		six = six || strings.Contains(s.Subnet, ":")
	}
	text := fmt.Sprintf("%s, network %s, bridge %s, %s", backend, n.Name, n.Interface, strings.Join(subnets, ", "))
	if !six {
		text += "; no IPv6, so the agent reaches the internet by IPv4 only"
	}
	return text
}
