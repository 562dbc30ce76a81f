package firewall

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
)

// tableName is the one table that Ward owns in a container's namespace.
const tableName = "ward"

// chunk is how many elements go into one message: the length of a netlink
// attribute has 16 bits.
const chunk = 500

// connect gives a connection to nftables in a network namespace; 0 is the
// calling process's own.
func connect(ctx context.Context, netns int) (*nftables.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nftables.New(nftables.WithNetNSFd(netns), nftables.WithSockOptions(func(c *netlink.Conn) error {
		return c.SetDeadline(deadline(ctx))
	}))
}

// queue puts a program into the connection's batch. It replaces Ward's whole table: add comes
// before delete, because delete fails for a missing table.
func queue(c *nftables.Conn, p program) error {
	table := &nftables.Table{Name: tableName, Family: nftables.TableFamilyINet}
	c.AddTable(table)
	c.DelTable(table)
	c.AddTable(table)
	for i, s := range p.sets {
		k := s.definition(table)
		k.ID = uint32(i + 1) // our own id: the library counts without a lock
		if err := c.AddSet(k, nil); err != nil {
			return fmt.Errorf("set %s: %w", s.name, err)
		}
		if err := s.queue(c, k); err != nil {
			return fmt.Errorf("set %s: %w", s.name, err)
		}
	}
	for _, ch := range p.chains {
		k := ch.kernel(table)
		c.AddChain(k)
		for _, r := range ch.rules {
			c.AddRule(&nftables.Rule{Table: table, Chain: k, Exprs: r.exprs()})
		}
	}
	return nil
}

// queueChanges puts only the sets that follow the host into the batch, so that counters keep
// their values.
func queueChanges(c *nftables.Conn, p program) error {
	table := &nftables.Table{Name: tableName, Family: nftables.TableFamilyINet}
	for _, s := range p.sets {
		if s.kind&(constant|dynamic) != 0 {
			continue
		}
		k := s.definition(table)
		c.FlushSet(k)
		if err := s.queue(c, k); err != nil {
			return fmt.Errorf("set %s: %w", s.name, err)
		}
	}
	return nil
}

func (s set) definition(table *nftables.Table) *nftables.Set {
	k := &nftables.Set{Table: table, Name: s.name, KeyType: s.key, Interval: s.kind&interval != 0, Constant: s.kind&constant != 0}
	if s.kind&dynamic != 0 {
		k.Dynamic, k.Size = true, maxMet
	}
	return k
}

// queue puts a set's elements into the batch.
func (s set) queue(c *nftables.Conn, k *nftables.Set) error {
	for part := range slices.Chunk(s.kernel(), chunk) {
		if err := c.SetAddElements(k, part); err != nil {
			return err
		}
	}
	return nil
}

// kernel gives the elements in the kernel's form: a range is its first key and, marked as an
// end, the key after its last one. A range up to the end of the address space has no end.
func (s set) kernel() []nftables.SetElement {
	var all []nftables.SetElement
	for _, e := range s.elements {
		all = append(all, nftables.SetElement{Key: e.first})
		if s.kind&interval == 0 {
			continue
		}
		if end, ok := netip.AddrFromSlice(e.last); ok && end.Next().IsValid() {
			all = append(all, nftables.SetElement{Key: end.Next().AsSlice(), IntervalEnd: true})
		}
	}
	return all
}

func (ch chain) kernel(table *nftables.Table) *nftables.Chain {
	k := &nftables.Chain{Name: ch.name, Table: table}
	if ch.hook != nil {
		policy := nftables.ChainPolicyDrop
		k.Type, k.Hooknum, k.Priority, k.Policy = nftables.ChainTypeFilter, ch.hook, nftables.ChainPriorityFilter, &policy
	}
	return k
}

// enforce applies a program by queue or queueChanges: completely, or nothing changes.
func enforce(ctx context.Context, netns int, p program, queue func(*nftables.Conn, program) error) error {
	c, err := connect(ctx, netns)
	if err != nil {
		return err
	}
	if err := queue(c, p); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("the kernel refuses the rules: %w", err)
	}
	return nil
}
