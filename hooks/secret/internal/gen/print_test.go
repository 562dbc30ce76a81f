package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestTable: the table in the tree is what is made of the rules in it.
func TestTable(t *testing.T) {
	table, err := os.ReadFile("../../rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, version := read(t, string(table))
	got, want := strings.Split(string(new(printer).file(c, version)), "\n"), strings.Split(string(table), "\n")
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("line %d: %q is in the tree, the generator writes %q", i+1, want[i], got[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines are in the tree, the generator writes %d", len(want), len(got))
	}
}

// TestKept: an excuse that whoever pushes could choose is left out, as are two conditions
// in one, which Ward does not know.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		allowlist
		kept bool
	}{
		{allowlist{Regexes: []string{"^true$"}}, true},
		{allowlist{RegexTarget: "line", Stopwords: []string{"Example"}}, true},
		{allowlist{Paths: []string{"vendor/"}}, false},
		{allowlist{Condition: "AND", Regexes: []string{"never"}}, false},
	} {
		if kept(c.allowlist) != c.kept {
			t.Errorf("%+v: kept is %t", c.allowlist, !c.kept)
		}
	}
}

// read gives back what a table was made of.
func read(t *testing.T, table string) (c config, version string) {
	allow := func(r *rule) *allowlist {
		if len(c.Rules) == 0 {
			return &c.Allowlist
		}
		return &r.Allowlists[len(r.Allowlists)-1]
	}
	r := &rule{}
	for line := range strings.SplitSeq(strings.ReplaceAll(table, "\n+", ""), "\n") {
		field, v, _ := strings.Cut(line, " ")
		var err error
		switch field {
		case "#":
			if _, after, ok := strings.Cut(v, "gitleaks "); ok {
				version, _, _ = strings.Cut(after, ";")
			}
		case "rule":
			c.Rules = append(c.Rules, rule{})
			r = &c.Rules[len(c.Rules)-1]
			r.ID, r.Description, _ = strings.Cut(v, " ")
		case "regex":
			r.Regex = v
		case "path":
			r.Path = v
		case "entropy":
			r.Entropy, err = strconv.ParseFloat(v, 64)
		case "group":
			r.SecretGroup, err = strconv.Atoi(v)
		case "fold":
			r.Keywords = append(r.Keywords, v)
		case "allow":
			r.Allowlists = append(r.Allowlists, allowlist{})
			allow(r).RegexTarget = v
		case "excuse":
			allow(r).Regexes = []string{v}
		case "stopwords":
			allow(r).Stopwords = strings.Fields(v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c, version
}
