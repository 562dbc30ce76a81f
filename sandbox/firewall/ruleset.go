package firewall

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// Ruleset is the nftables content of a network namespace, as lines under headings: one heading
// for each table, and for each of Ward's sets and chains. Two are equal exactly when the rules
// are. The lines use the kernel's field names; Text is for people.
type Ruleset map[string][]string

// met begins the heading of what packets put into a dynamic set; all other headings are rules.
const met = "met in "

// refused are the addresses of the dynamic sets, in order.
func (r Ruleset) refused() (all []netip.Addr) {
	for h, keys := range r {
		for _, k := range keys {
			if a, err := netip.ParseAddr(k); err == nil && strings.HasPrefix(h, met) {
				all = append(all, a)
			}
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return all
}

// maxDifferences is how many differences one error lists.
const maxDifferences = 5

// Compare says how a ruleset differs from what a policy asks for; nil when it does not. A
// table that is not Ward's is a difference, too, because address translation after Ward's
// chains would bypass them.
func Compare(p Policy, got Ruleset) error {
	prog, err := compile(p)
	if err != nil {
		return err
	}
	want := prog.ruleset()
	headings := maps.Clone(want)
	maps.Copy(headings, got)
	maps.DeleteFunc(headings, func(h string, _ []string) bool { return strings.HasPrefix(h, met) })
	var differences []string
	for _, h := range slices.Sorted(maps.Keys(headings)) {
		w, wanted := want[h]
		g, there := got[h]
		switch {
		case !there:
			differences = append(differences, h+": missing")
		case !wanted:
			differences = append(differences, h+": not asked for")
		case !slices.Equal(w, g):
			differences = append(differences, h+": "+difference(w, g))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	if n := len(differences); n > maxDifferences {
		differences = append(differences[:maxDifferences], fmt.Sprintf("and %d more", n-maxDifferences))
	}
	return errors.New("the kernel's rules are not what was asked for: " + strings.Join(differences, "; "))
}

// sameRules reports whether two policies have the same rules.
func sameRules(a, b Policy) bool {
	prog, err := compile(a)
	return err == nil && Compare(b, prog.ruleset()) == nil
}

// difference describes the first difference.
func difference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("line %d is missing: %s", i, want[i])
		case i >= len(want):
			return fmt.Sprintf("line %d is too much: %s", i, got[i])
		case want[i] != got[i]:
			return fmt.Sprintf("line %d is %s, want %s", i, got[i], want[i])
		}
	}
	return ""
}

// ruleset is the expected result of reading a program back.
func (p program) ruleset() Ruleset {
	table := &nftables.Table{Name: tableName, Family: nftables.TableFamilyINet}
	r := Ruleset{}
	r.table(table)
	for _, s := range p.sets {
		r.set(s.definition(table), s.kernel())
	}
	for _, c := range p.chains {
		r.chain(c.kernel(table))
		for _, rule := range c.rules {
			r.rule(c.name, rule.exprs())
		}
	}
	return r
}

func (r Ruleset) table(t *nftables.Table) {
	// A flag may make a table dormant.
	r[fmt.Sprintf("table %d %s", t.Family, t.Name)] = []string{fmt.Sprintf("flags %d", t.Flags)}
}

func (r Ruleset) set(s *nftables.Set, elements []nftables.SetElement) {
	size := uint32(0) // of a constant set the kernel counts the elements
	if s.Dynamic {
		size = s.Size
	}
	lines := []string{fmt.Sprintf("type %s, constant %t, interval %t, anonymous %t, map %t, dynamic %t, timeout %t, size %d",
		s.KeyType.Name, s.Constant, s.Interval, s.Anonymous, s.IsMap, s.Dynamic, s.HasTimeout, size)}
	switch {
	case s.Dynamic: // what packets put in is no part of the rules
		r[met+s.Name] = values(elements)
	case s.Interval:
		lines = append(lines, ranges(elements)...)
	default:
		lines = append(lines, values(elements)...)
	}
	r["set "+s.Name] = lines
}

func (r Ruleset) chain(c *nftables.Chain) {
	line := "no hook"
	if c.Hooknum != nil && c.Priority != nil && c.Policy != nil {
		line = fmt.Sprintf("type %s, hook %d, priority %d, policy %d", c.Type, *c.Hooknum, *c.Priority, *c.Policy)
	}
	r["chain "+c.Name] = []string{line}
}

func (r Ruleset) rule(chain string, exprs []expr.Any) {
	words := make([]string, len(exprs))
	for i, e := range exprs {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", e), "*expr.")
		words[i] = strings.ToLower(kind) + strings.TrimPrefix(fmt.Sprint(e), "&")
	}
	r["chain "+chain] = append(r["chain "+chain], strings.Join(words, " "))
}

func values(elements []nftables.SetElement) []string {
	var all []string
	for _, e := range elements {
		all = append(all, key(e.Key))
	}
	slices.Sort(all)
	return all
}

// ranges reads an interval set's boundaries. nft writes some differently for the same meaning:
// an end below the first range, no end where the next range begins.
func ranges(elements []nftables.SetElement) []string {
	sorted := slices.Clone(elements)
	slices.SortFunc(sorted, func(a, b nftables.SetElement) int {
		if c := slices.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		if a.IntervalEnd == b.IntervalEnd {
			return 0
		}
		if a.IntervalEnd { // one range ends where the next begins
			return -1
		}
		return 1
	})
	var all []string
	for i, e := range sorted {
		switch {
		case e.IntervalEnd:
		case i+1 == len(sorted):
			all = append(all, key(e.Key)+" to the end")
		default:
			all = append(all, key(e.Key)+" to below "+key(sorted[i+1].Key))
		}
	}
	return all
}

// key writes an address as one, anything else in hex.
func key(k []byte) string {
	if a, ok := netip.AddrFromSlice(k); ok {
		return a.String()
	}
	return fmt.Sprintf("%x", k)
}
