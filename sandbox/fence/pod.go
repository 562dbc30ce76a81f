package fence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"git-ward/internal/diag"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/pod"
)

// NodeVar tells a pod's fence the node's addresses, with commas: the engine puts them there
// from its own status (status.hostIP). Kubernetes sets the other two by itself.
const (
	NodeVar    = "WARD_NODE"
	apiHostVar = "KUBERNETES_SERVICE_HOST"
	apiPortVar = "KUBERNETES_SERVICE_PORT"
)

// kubeletPort is the kubelet's port.
const kubeletPort = 10250

// EnterPod puts a launcher's policy in place in the network namespace that this process
// shares with the pod's other containers, and adds what only a pod knows: its own
// addresses, the node, the API server, its name servers. It returns the note for those who
// start after it (MANY-3).
func EnterPod(ctx context.Context, p firewall.Policy, getenv func(string) string, warnings io.Writer) (note pod.Note, err error) {
	if len(p.Gates) == 0 {
		return note, errors.New("the policy names no gate: a pod that cannot reach Ward's host is useless")
	}
	refused := p.Gates
	nodes, err := podNodes(getenv(NodeVar))
	if err != nil {
		return note, err
	}
	for _, a := range nodes {
		refused = append(refused[:len(refused):len(refused)], netip.AddrPortFrom(a, kubeletPort))
	}
	p.HostAddrs = append(p.HostAddrs, nodes...)
	if host := getenv(apiHostVar); host != "" { // empty for podman
		api, err := apiServer(host, getenv(apiPortVar))
		if err != nil {
			return note, err
		}
		refused = append(refused[:len(refused):len(refused)], api)
		p.HostAddrs = append(p.HostAddrs, api.Addr())
	}
	if err := podNames(ctx, &p, warnings); err != nil {
		return note, err
	}
	for _, a := range p.HostAddrs {
		note.Hosts = append(note.Hosts, a.String())
	}
	for _, at := range refused {
		note.Refused = append(note.Refused, at.String())
	}
	if len(p.Resolvers) > 0 {
		note.Resolver = p.Resolvers[0].String()
	}
	if err := firewall.Here(ctx, p, nodes); err != nil {
		return note, err
	}
	note.Namespace, err = pod.Namespace()
	return note, err
}

// podNodes are the addresses of a pod's node. Without them, as with podman, only the pod's
// spec tells the node's network namespace from a pod's.
func podNodes(text string) (all []netip.Addr, err error) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		a, err := netip.ParseAddr(word)
		if err != nil {
			return nil, diag.Hint(fmt.Errorf("%s: %q is not an address of the node", NodeVar, word), "the pod's spec takes it from status.hostIP")
		}
		all = append(all, a)
	}
	return all, nil
}

func apiServer(host, port string) (netip.AddrPort, error) {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%s is not an address: %w", apiHostVar, err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%s is not a port: %w", apiPortVar, err)
	}
	return netip.AddrPortFrom(a, uint16(n)), nil
}

// podNames adds the pod's own name servers if the launcher names none, and finds the NAT64 of
// the pod's network, which may differ from the launcher's.
func podNames(ctx context.Context, p *firewall.Policy, warnings io.Writer) (err error) {
	if p.Mode != firewall.Public {
		return nil
	}
	if len(p.Resolvers) == 0 {
		if p.Resolvers, err = resolvers(nil); err != nil {
			return err
		}
	}
	// Before the rules exist: afterwards only the agent may ask.
	own, _, err := firewall.HostFacts(ctx)
	if err != nil {
		return err
	}
	asked := *p
	asked.HostAddrs = own
	if err := findTranslators(ctx, &asked, p.Resolvers); err != nil {
		fmt.Fprintf(warnings, "warning: no name server answered whether this network has a NAT64 (RFC 7050); if it has one, add its prefix to [egress] refuse: %v\n", err)
	}
	p.Translators = append(p.Translators, asked.Translators...)
	return nil
}
