package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

func shipped(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The file that Ward ships documents every setting: each has its value and a
// comment above it.
func TestEverySettingIsDocumented(t *testing.T) {
	data := shipped(t)
	c, err := Parse(data, "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Prices = defaultPrices()
	if !reflect.DeepEqual(c, want) {
		t.Errorf("Default differs from config.toml:\n%+v\n%+v", want, c)
	}
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	for section := range reflect.TypeFor[Config]().Fields() {
		table, ok := tree[section.Tag.Get("toml")].(map[string]any)
		if section.Type.Kind() != reflect.Struct {
			continue // the prices, compared above
		}
		for setting := range section.Type.Fields() {
			if _, has := table[setting.Tag.Get("toml")]; !ok || !has {
				t.Errorf("config.toml lacks %s.%s", section.Tag.Get("toml"), setting.Tag.Get("toml"))
			}
		}
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
