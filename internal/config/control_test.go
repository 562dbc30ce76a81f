package config

import (
	"slices"
	"strings"
	"testing"
)

func TestControl(t *testing.T) {
	c, err := Parse(nil, "t")
	if err != nil || c.Control.Split() || c.Control.Ref() != "refs/heads/main" || c.Control.ProjectRef() != "refs/heads/main" {
		t.Fatal(c.Control, err)
	}
	c, err = Parse([]byte("[control]\nbranch = \"ward\"\nproject = \"release/2.0\"\n"), "t")
	if err != nil || !c.Control.Split() || c.Control.Ref() != "refs/heads/ward" || c.Control.ProjectRef() != "refs/heads/release/2.0" {
		t.Fatal(c.Control, err)
	}
	for ref, want := range map[string]bool{"refs/heads/ward": true, "refs/heads/release/2.0": true, "refs/heads/release": false, "ward": false, "": false} {
		if c.Control.Names(ref) != want {
			t.Errorf("%q is one of the two branches: %v", ref, !want)
		}
	}
	if one := (Control{Branch: "main", Project: "main"}); !slices.Equal(one.Refs(), []string{"refs/heads/main"}) || !one.Names("refs/heads/main") {
		t.Error(one.Refs())
	}
	for _, name := range []string{"", "-d", "a b", "a//b", "/a", "a/", "a..b", "a.lock", "a/.b", "HEAD", "refs/heads/main", "agent/D-1", "rescue", "é",
		"a~1", "a^", "a:b", "a?b", "a*b", "a[b", "a\\\\b", "@{-1}", strings.Repeat("a", 101)} {
		if _, err := Parse([]byte("[control]\nproject = \""+name+"\"\n"), "t"); err == nil || !strings.Contains(err.Error(), "control.project") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
