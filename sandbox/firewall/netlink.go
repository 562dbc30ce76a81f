package firewall

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
)

// kernelTimeout is how long the kernel may take to answer if the context has no deadline.
const kernelTimeout = 10 * time.Second

func deadline(ctx context.Context) time.Time {
	if t, ok := ctx.Deadline(); ok {
		return t
	}
	return time.Now().Add(kernelTimeout)
}

// dump lists all objects of a kind. It repeats a dump that a change interrupted, because that
// is incomplete.
func dump(ctx context.Context, protocol, netns int, kind netlink.HeaderType, data []byte) ([]netlink.Message, error) {
	c, err := netlink.Dial(protocol, &netlink.Config{NetNS: netns})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := errors.Join(ctx.Err(), c.SetDeadline(deadline(ctx))); err != nil {
		return nil, err
	}
	for range 10 {
		messages, err := c.Execute(netlink.Message{
			Header: netlink.Header{Type: kind, Flags: netlink.Request | netlink.Dump},
			Data:   data,
		})
		if err != nil || !interrupted(messages) {
			return messages, err
		}
	}
	return nil, errors.New("the kernel's answer was interrupted ten times by changes")
}

func interrupted(messages []netlink.Message) bool {
	return slices.ContainsFunc(messages, func(m netlink.Message) bool { return m.Header.Flags&netlink.DumpInterrupted != 0 })
}
