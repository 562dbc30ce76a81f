package firewall

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// Here puts a policy in place in the caller's own network namespace, which is a pod's,
// reads it back and compares (MANY-3). The pod's own addresses and routes are refused
// besides: whoever stands there is a pod of somebody else's. Nodes are the addresses of the
// machine around the pod, as the engine tells them; where one of them is an own address, the
// namespace is the machine's, and nothing is done.
//
// Nothing follows what changes later.
func Here(ctx context.Context, p Policy, nodes []netip.Addr) error {
	addrs, routes, err := HostFacts(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return plain(a) == plain(node) }) {
			return diag.Hint(fmt.Errorf("%v is the node's address, and this network namespace has it: nothing was changed", node),
				"a pod with hostNetwork is fenced by nobody; take it out of the pod's spec")
		}
	}
	p.HostAddrs = slices.Concat(p.HostAddrs, addrs, nodes)
	p.HostRoutes = slices.Concat(p.HostRoutes, routes)
	got, err := work(ctx, 0, &p, whole)
	if err == nil {
		err = Compare(p, got)
	}
	if err != nil {
		err = fmt.Errorf("firewall: %w", err)
		if errors.Is(err, unix.EPERM) {
			err = diag.Hint(err, "the container needs NET_ADMIN, and the namespace must allow it: docs/cluster.md, Pod Security")
		}
		return err
	}
	return nil
}
