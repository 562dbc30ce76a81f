package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

// Ward's config.toml sets everything, within the bounds, in the order of Config,
// with a comment above: what `git ward config` prints documents every setting.
func TestEverySettingIsDocumented(t *testing.T) {
	c := new(Config)
	meta, err := c.decode(Shipped, "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(meta); err != nil {
		t.Error(err)
	}
	var keys, want []string
	for _, key := range meta.Keys() {
		if name := key.String(); !slices.Contains(keys, name) && (len(key) == 2 || name == "prices") && !strings.HasPrefix(name, "prices.") {
			keys = append(keys, name)
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key != "prices" && !strings.Contains(key, ".") })
	for key := range c.all() {
		want = append(want, key)
	}
	if !slices.Equal(keys, want) {
		t.Errorf("config.toml has\n%v\nConfig has\n%v", keys, want)
	}
	if root, err := os.ReadFile("../../config.toml"); err != nil || string(root) != Shipped {
		t.Error("config.toml at Ward's root is another file:", err)
	}
	if doc, err := os.ReadFile("../../docs/settings.md"); err != nil || !strings.Contains(string(doc), "\n```toml\n"+Shipped+"```\n") {
		t.Error("docs/settings.md shows other settings:", err)
	}
}

// Every key of the table of bounds is a setting that can have them.
func TestBoundsAreOfSettings(t *testing.T) {
	kinds := map[string]reflect.Kind{}
	for key, v := range new(Config).all() {
		kinds[key] = v.Kind()
	}
	for key := range rules {
		if k := kinds[key]; k != reflect.String && k != reflect.Slice {
			t.Errorf("%s is a %v", key, k)
		}
	}
}

// What a file leaves out has its default, and its own lists replace the defaults'.
func TestDefaults(t *testing.T) {
	for text, change := range map[string]func(c *Config){
		"":                            func(*Config) {},
		"[limits]\ndepth = 7\n":       func(c *Config) { c.Limits.Depth = 7 },
		"[rights]\nprotected = []\n":  func(c *Config) { c.Rights.Protected = []string{} },
		"[vm]\ncalls = [\"max\"]\n":   func(c *Config) { c.VM.Calls = []string{"max"} },
		"[[prices]]\nmodel = \"m\"\n": func(c *Config) { c.Prices = []Price{{Model: "m"}} },
		Shipped:                       func(*Config) {},
	} {
		want := Default()
		change(want)
		if got, err := Parse([]byte(text), "x"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%.30q: %v\n%+v\n%+v", text, err, got, want)
		}
	}
}

// Of two faults the first in the file is named, each time.
func TestFirstFault(t *testing.T) {
	for range 20 {
		for text, want := range map[string]string{
			"[vm]\nmax_cells = 0\n[limits]\ndepth = 0\n":                        "vm.max_cells",
			"[limits]\ndepth = 0\n[vm]\nmax_cells = 0\n":                        "limits.depth",
			"[limits]\ndepth = 0\ncommits = 0\n[egress]\nmode = \"open\"\n":     "limits.depth",
			"[egress]\nmode = \"open\"\n[sandbox]\ncpus = 0.0\nprocesses = 0\n": "egress.mode",
			"[bootstrap]\nrun = [\"\"]\nbuild = [\"\"]\n[guard]\ncpu = -1.0\n":  "bootstrap.run",
			"[limits]\nno_such_key = 1\ndepth = 0\n[limit]\nno_such_key = 1\n":  "limits.no_such_key",
		} {
			if _, err := Parse([]byte(text), "x"); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%q: %v, want %s", text, err, want)
			}
		}
	}
}

// Whoever pastes a section of the documents below the settings, which have it, is told where.
func TestTwice(t *testing.T) {
	for text, want := range map[string]string{
		Shipped + "[notify]\ncommand = []\n":                    "change what stands there, and take line",
		"# x\n[limits]\ndepth = 7 # x\ndepth = 8\n":             "line 3 has it already: change what stands there, and take line 4 out",
		"[door]\n[limits] # x\ndepth = 7\n[vm]\n[limits] # y\n": "line 2 has it already: change what stands there, and take line 5 out",
		"[limits\n": "",
		"[door]\nper_minute = 1\n[limits]\ndepth = = 7\n": "",
	} {
		_, err := Parse([]byte(text), "x")
		hints := strings.Join(diag.Hints(err), "")
		if err == nil || !strings.Contains(hints, want) || (want == "") != (hints == "") {
			t.Errorf("%.20q: %v, hint %q, want %q", text, err, hints, want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{"everything": Shipped, "one": "[limits]\ndepth = 7\n"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse([]byte(text), "x"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"[limits\n":                                "x.toml:2:8: ",
		"[limits]\ndeep = 3\n":                     `unknown key "limits.deep"`,
		"[shields]\nup = true\n":                   `unknown key "shields`,
		"[limits]\ndepth = 0\n":                    "limits.depth must be at least 1",
		"[limits]\nblob_size = -1\n":               "limits.blob_size must be at least 1",
		"[egress]\nmode = \"open\"\n":              "egress.mode is \"open\", not one of public, allowlist",
		"[egress]\nrefuse = [\"router\"]\n":        "egress.refuse has \"router\", which is neither an address nor a prefix",
		"[egress]\nrefuse = [\"0.0.0.0/0\"]\n":     "egress.refuse has \"0.0.0.0/0\", which is every address: `[egress] mode = \"allowlist\"`",
		"[egress]\nconnections = \"many\"\n":       "x.toml: egress.connections is a text, and wants a whole number, as in `connections = 4_096`",
		"[egress]\nconnections = 2_000_000\n":      "egress.connections is 2000000; it may be 1000000 at most",
		"[egress]\nrefuse = \"203.0.113.7\"\n":     "egress.refuse is a text, and wants a list of texts, as in `refuse = []`",
		"[egress]\nrefuse = [7]\n":                 "egress.refuse is a list, and wants a list of texts",
		"[budget]\ncost = 50\n":                    "budget.cost is a number, and wants a text in quotes, as in `cost = \"50\"`",
		"[limits]\nDepth = \"7\"\n":                "limits.Depth is a text, and wants a whole number, as in `depth = 100`",
		"[door]\ncpu = 20\n":                       "x.toml:2:7: \"20\" is no time such as",
		"[door]\ncpu = \"1ms\"\n":                  "door.cpu is \"1ms\"; nothing works with less than \"1s\"",
		"[launch]\nagents = 0\n":                   "launch.agents must be at least 1",
		"[launch]\nagents = 101\n":                 "launch.agents is 101; it may be 100 at most",
		"[launch]\nlease = \"5s\"\n":               "launch.lease is \"5s\"; nothing works with less than \"1m0s\"",
		"[launch]\nlease = \"48h\"\n":              "launch.lease is \"48h0m0s\"; it may be \"24h0m0s\" at most",
		"[verify]\nagents = -1\n":                  "verify.agents must be at least 0",
		"[verify]\nagents = 17\n":                  "verify.agents is 17; it may be 16 at most",
		"[launch]\nmemory = 1000\n":                "launch.memory is 1000; nothing works with less than 268435456",
		"[launch]\nprocesses = 5\n":                "launch.processes is 5; nothing works with less than 128",
		"[model]\nalso = [\"claude-*\"]\n":         "model.also names \"claude-*\": models are named exactly",
		"[model]\nid = \"gpt-*\"\n":                "model.id names \"gpt-*\"",
		"[model]\nalso = [\"\"]\n":                 "model.also names \"\"",
		"[egress]\nconnections = 0\n":              "egress.connections must be at least 1",
		"[verify]\ncache = [\"go\", \"gem\"]\n":    "verify.cache names \"gem\", not one of go, npm, pip",
		"[verify]\ncache_sources = [\"PATH=x\"]\n": "verify.cache_sources has \"PATH\", which is none of GOPROXY=, GONOSUMDB=, GOPRIVATE=, npm_config_registry= and PIP_INDEX_URL=",
		"[limits]\ncpu = \"soon\"\n":               "soon",
		"[limits]\ncpu = \"-3s\"\n":                "not a positive time",
		"[rights]\nprotected = \"all\"\n":          "x.toml",
		"[rights]\nprotected = [\"a/**\"]\n":       "rights.protected: \"a/**\" holds `**`",
		"[rights]\nprotected_on_main = [\"\"]\n":   "rights.protected_on_main: \"\" names no path",
		"[limits]\ndepth = 99999999999999999999\n": "x.toml",
	} {
		_, err := Parse([]byte(text), "x.toml")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "git ward init --bare") {
		t.Errorf("missing file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Path)
	if err := os.WriteFile(path, []byte("[limits]\ndepth = 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil || c.Limits.Depth != 7 || c.Limits.Commits != 10_000 {
		t.Errorf("%v: %+v", err, c)
	}
	if err := os.WriteFile(path, make([]byte, maxSize+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a file over the limit was read")
	}
}
