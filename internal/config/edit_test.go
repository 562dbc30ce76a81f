package config

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSet: a value changes, and nothing else of the text; what a file does not have comes
// with its comment.
func TestSet(t *testing.T) {
	for _, c := range []struct{ name, text, key, value, want string }{
		{"a value", "[door]\nburst = 3 # few\n", "door.burst", "7", "[door]\nburst = 7 # few\n"},
		{"no end of the last line", "[door]\nburst = 3", "door.burst", "7", "[door]\nburst = 7"},
		{"of two sections", "[control]\nbranch = \"a\"\n[door]\nburst=3\n[vm]\n", "door.burst", "7", "[control]\nbranch = \"a\"\n[door]\nburst=7\n[vm]\n"},
		{"a list over lines", "[egress]\nallow = [\n  \"a]\", # ]\n  'b#',\n] # end\nmode = \"public\"\n", "egress.allow", "[]", "[egress]\nallow = [] # end\nmode = \"public\"\n"},
		{"strings over lines", "[model]\ncommand = [\"sh\", '''\n[vm]\n# it's ] = ''''] # run\nid = \"\"\"\n\\\"\"\"\nid = \"\"\" # both\nprompt = \"file\"\n", "model.prompt", `"stdin"`,
			"[model]\ncommand = [\"sh\", '''\n[vm]\n# it's ] = ''''] # run\nid = \"\"\"\n\\\"\"\"\nid = \"\"\" # both\nprompt = \"stdin\"\n"},
		{"a string over lines", "[model]\nid = '''\na # b\n''' # c\nprompt = \"file\"\n", "model.id", `"d"`, "[model]\nid = \"d\" # c\nprompt = \"file\"\n"},
		{"a comment of another key", "[door]\n# burst = 5\nburst = 3\n", "door.burst", "7", "[door]\n# burst = 5\nburst = 7\n"},
		{"a section without the key", "[control]\nbranch = \"x\"\n\n# of the rights\n[rights]\n", "control.project", `"y"`,
			"[control]\nbranch = \"x\"\nproject = \"y\"\n\n# of the rights\n[rights]\n"},
		{"no section", "[door]\nburst = 3", "egress.mode", `"allowlist"`, "[door]\nburst = 3\n\n[egress]\n# \"public\": the fence reaches the public internet, and nothing else; the agent can send what it\n" +
			"# knows anywhere. \"allowlist\": no route out at all; only the names below, through the gateway.\nmode = \"allowlist\"\n"},
		{"nothing", "", "door.burst", "7", "[door]\n# The agent's pushes: `burst` at once, then `per_minute` a minute. More are delayed, never\n# refused.\nburst = 7\n"},
	} {
		got, err := Set([]byte(c.text), c.key, c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
	for _, text := range []string{"control = { branch = \"x\" }\n", "control.branch = \"x\"\n"} {
		if got, err := Set([]byte(text), "control.branch", `"y"`); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestSetShipped: each setting of the shipped file can be given its own value again, which
// changes no byte.
func TestSetShipped(t *testing.T) {
	for key := range new(Config).all() {
		if !strings.Contains(key, ".") {
			continue
		}
		if got, err := Set([]byte(Shipped), key, Literal(key)); err != nil || string(got) != Shipped || Literal(key) == "" {
			t.Errorf("%s: %q, %v", key, Literal(key), err)
		}
	}
}

// TestValueEnd: no text makes the search for a value's end run away.
func TestValueEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(\[|\]|#|"|"""|'|\\|\n| |a|=|,){0,20}`).Draw(t, "text")
		if end := valueEnd(text, 0); end < 0 || end > len(text) {
			t.Fatal(end)
		}
		find("[a]\n"+text, "a.a")
	})
}

// TestUpdate: what an earlier version wrote moves, what somebody chose stays, and nothing is
// added; a second update finds nothing.
func TestUpdate(t *testing.T) {
	old := "[identity]\npm = [\"ada\"]\n[limits]\ndeadline = \"120s\"\nsecret_scan = 5\n[rights]\n# ours\nprotected_on_main = [\"spec/\"]\n[loop]\nR_p = \"3\"\n"
	got, changes, err := Update([]byte(old), "x")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(changes, "\n")
	for _, want := range []string{"limits.deadline = \"120s\", now \"9s\"", "rights.protected_on_main = [\"spec/\"], now [\"/spec/\"]"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "secret_scan") || strings.Contains(all, "loop.R_p") || strings.Contains(all, "loop.r_p") || strings.Contains(all, "identity.pm") {
		t.Errorf("it moved what somebody chose:\n%s", all)
	}
	c, err := Parse(got, "x")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Identity.PM, want.Limits.SecretScan, want.Loop.Rp, want.Prices = []string{"ada"}, 5, "3", c.Prices
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\nwant\n%+v", c, want)
	}
	if again, changes, err := Update(got, "x"); err != nil || len(changes) > 0 || string(again) != string(got) {
		t.Errorf("again: %q, %v", changes, err)
	}
	if _, changes, err := Update([]byte(Shipped), "x"); err != nil || len(changes) > 0 {
		t.Errorf("what is shipped is old: %q, %v", changes, err)
	}
}

// TestEarlier: each row is a setting of today with another value.
func TestEarlier(t *testing.T) {
	now := Default().settings()
	for _, e := range earlier() {
		if reflect.DeepEqual(e.value, now[e.key].Interface()) {
			t.Errorf("%s: the earlier default is today's", e.key)
		}
	}
}
