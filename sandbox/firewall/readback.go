package firewall

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// read gives the rules that a network namespace has; 0 is the caller's own.
func read(ctx context.Context, netns int) (Ruleset, error) {
	c, err := connect(ctx, netns)
	if err != nil {
		return nil, err
	}
	tables, err := c.ListTables()
	if err != nil {
		return nil, fmt.Errorf("cannot read the tables back: %w", err)
	}
	r := Ruleset{}
	for _, t := range tables {
		r.table(t)
		if t.Name == tableName && t.Family == nftables.TableFamilyINet {
			err = errors.Join(r.readSets(c, t), r.readChains(c, t), r.readRules(ctx, netns))
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the rules back: %w", err)
		}
	}
	return r, nil
}

func (r Ruleset) readSets(c *nftables.Conn, t *nftables.Table) error {
	sets, err := c.GetSets(t)
	if err != nil {
		return err
	}
	for _, s := range sets {
		elements, err := c.GetSetElements(s)
		if err != nil {
			return fmt.Errorf("set %s: %w", s.Name, err)
		}
		r.set(s, elements)
	}
	return nil
}

func (r Ruleset) readChains(c *nftables.Conn, t *nftables.Table) error {
	chains, err := c.ListChainsOfTableFamily(t.Family)
	if err != nil {
		return err
	}
	for _, ch := range chains {
		if ch.Table.Name == t.Name {
			r.chain(ch)
		}
	}
	return nil
}

// readRules asks for the rules without the library, which silently skips unknown expressions:
// a narrowed rule would look whole.
func (r Ruleset) readRules(ctx context.Context, netns int) error {
	name, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: unix.NFTA_RULE_TABLE, Data: []byte(tableName + "\x00")}})
	if err != nil {
		return err
	}
	// A message begins with family, version and resource (struct nfgenmsg).
	data := append([]byte{byte(nftables.TableFamilyINet), unix.NFNETLINK_V0, 0, 0}, name...)
	messages, err := dump(ctx, unix.NETLINK_NETFILTER, netns, unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETRULE, data)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := r.readRule(m.Data[4:]); err != nil {
			return err
		}
	}
	return nil
}

func (r Ruleset) readRule(data []byte) error {
	ad, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return err
	}
	ad.ByteOrder = binary.BigEndian
	var chain string
	var exprs []expr.Any
	for ad.Next() {
		switch ad.Type() {
		case unix.NFTA_RULE_CHAIN:
			chain = ad.String()
		case unix.NFTA_RULE_EXPRESSIONS:
			ad.Nested(func(list *netlink.AttributeDecoder) error {
				for list.Next() {
					list.Nested(func(ad *netlink.AttributeDecoder) error {
						e, err := decode(ad)
						exprs = append(exprs, e)
						return err
					})
				}
				return list.Err()
			})
		}
	}
	r.rule(chain, exprs)
	return ad.Err()
}

// decode decodes one expression and fails on any that Ward does not write.
func decode(ad *netlink.AttributeDecoder) (expr.Any, error) {
	var name string
	var data []byte
	for ad.Next() {
		switch ad.Type() {
		case unix.NFTA_EXPR_NAME:
			name = ad.String()
		case unix.NFTA_EXPR_DATA:
			data = bytes.Clone(ad.Bytes())
		}
	}
	if err := ad.Err(); err != nil {
		return nil, err
	}
	e := expression(name)
	if e == nil {
		return nil, fmt.Errorf("a rule has an expression %q, which no policy asks for", name)
	}
	return e, expr.Unmarshal(byte(nftables.TableFamilyINet), data, e)
}

// expression gives an empty expression of a kind that part.go writes.
func expression(name string) expr.Any {
	switch name {
	case "bitwise":
		return &expr.Bitwise{}
	case "cmp":
		return &expr.Cmp{}
	case "connlimit":
		return &expr.Connlimit{}
	case "ct":
		return &expr.Ct{}
	case "dynset":
		return &expr.Dynset{}
	case "fib":
		return &expr.Fib{}
	case "immediate": // Ward's rules only load verdicts
		return &expr.Verdict{}
	case "limit":
		return &expr.Limit{}
	case "lookup":
		return &expr.Lookup{}
	case "meta":
		return &expr.Meta{}
	case "payload":
		return &expr.Payload{}
	case "reject":
		return &expr.Reject{}
	}
	return nil
}
