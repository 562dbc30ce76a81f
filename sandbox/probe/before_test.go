package probe

import (
	"context"
	"strings"
	"testing"
)

// Before a start only what holds in every container is tried, and the first that is broken
// ends it.
func TestBefore(t *testing.T) {
	all := groups
	defer func() { groups = all }()
	tried := ""
	one := func(name string, before, held bool) group {
		return group{name, before, func(*Surroundings) []attempt {
			return []attempt{{"SBX-2", name, func(context.Context, *Surroundings) (bool, string) {
				tried += name
				return held, "in words"
			}}}
		}}
	}
	for _, c := range []struct {
		groups []group
		tried  string
		want   string
	}{
		{[]group{one("a", true, true), one("b", false, false), one("c", true, true)}, "ac", ""},
		{[]group{one("a", true, true), one("b", true, false), one("c", true, true)}, "ab", "the fence does not hold: b (SBX-2): in words"},
		{[]group{one("a", false, true)}, "", "was not tried"},
	} {
		tried, groups = "", c.groups
		report := Before(t.Context(), &Surroundings{})
		err := report.Err()
		if tried != c.tried || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("tried %s, %v; want %s, %s", tried, err, c.tried, c.want)
		}
	}
	groups = []group{one("a", true, true)}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if report := Before(late, &Surroundings{}); report.Err() == nil {
		t.Error("a trial without time holds")
	}
}

// The parts that every container has are tried before a start.
func TestGroups(t *testing.T) {
	before := ""
	for _, g := range groups {
		if g.before {
			before += g.name + " "
		}
	}
	for _, name := range []string{"network", "privileges", "files"} {
		if !strings.Contains(before, name+" ") {
			t.Errorf("%s is not tried before a start, only %s", name, before)
		}
	}
}
