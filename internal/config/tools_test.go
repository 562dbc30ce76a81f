package config

import (
	"strings"
	"testing"
)

// TestTools: which command lines CALL may reach is held to a form, and none is by default.
func TestTools(t *testing.T) {
	if own, outside := Default().CallTools(); len(own) != len(PureTools) || len(outside) != 0 {
		t.Errorf("by default %v and %v", own, outside)
	}
	for text, want := range map[string]string{
		"calls = [\"print\", \"wc\"]\ntools = { wc = [\"/usr/bin/wc\", \"-l\"] }": "",
		"calls = [\"wc\"]\n[vm.tools]\nwc = [\"/usr/bin/wc\"]":                    "",
		"calls = [\"wc\"]":                               `vm.calls names "wc", not one of print`,
		"tools = { wc = [\"wc\"] }":                      "not an absolute path",
		"tools = { wc = [\"../wc\"] }":                   "not an absolute path",
		"tools = { wc = [\"/usr/bin/../bin/wc\"] }":      "not an absolute path",
		"tools = { wc = [] }":                            "not an absolute path",
		"tools = { wc = [\"/bot/agent/D-1/x/wc\"] }":     "lies where the agent writes",
		"tools = { wc = [\"/tmp/wc\"] }":                 "lies where the agent writes",
		"tools = { print = [\"/bin/echo\"] }":            "the machine's own",
		"tools = { plan = [\"/bin/echo\"] }":             "the machine's own",
		"tools = { \"a b\" = [\"/bin/echo\"] }":          "no name",
		"tools = { x = [\"/bin/echo\", \"a\\u0000b\"] }": "NUL",
	} {
		c, err := Parse([]byte("[vm]\n"+text+"\n"), "x")
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			} else if _, outside := c.CallTools(); outside["wc"] == nil {
				t.Errorf("%q: %v", text, outside)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
