package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// marked are settings of which each text that may have any value says its own key.
func marked() *Config {
	c := Default()
	for key, v := range c.all() {
		switch text := "mark:" + key; v.Kind() {
		case reflect.String:
			v.SetString(text)
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.String {
				v.Set(reflect.ValueOf([]string{text}))
			}
		}
	}
	return c
}

// TestCopy: a setting that declares nothing is in no copy, whatever it is called; the others
// are where they say, and nowhere else.
func TestCopy(t *testing.T) {
	c := marked()
	texts := map[Shown]string{Inside: string(c.Copy(Inside)), ByHand: string(c.Copy(ByHand)), "audit": string(c.Public().Text)}
	declared := map[Shown]int{}
	for section, f := range c.fields() {
		shown, key := Shown(f.tag.Get("shown")), strings.TrimPrefix(section+"."+f.tag.Get("toml"), ".")
		declared[shown]++
		if f.value.Kind() != reflect.String && f.value.Kind() != reflect.Slice || key == "prices" {
			continue
		}
		for copied, want := range map[Shown]bool{Inside: shown == Inside, ByHand: shown == Inside || shown == ByHand, "audit": shown != ""} {
			if there := strings.Contains(texts[copied], `"mark:`+key+`"`); there != want && !(copied == "audit" && hosts(f.tag.Get("toml"), "x")) {
				t.Errorf("%s is in the copy for %q: %v", key, copied, there)
			}
		}
	}
	if len(declared) != 4 || declared[""] == 0 {
		t.Errorf("so many declare so: %v", declared)
	}
	for _, secret := range []string{"model.anthropic_key_file", "model.openai_url", "notify.command", "forge.token_file", "forge.app_key_file", "kube.gate", "kube.host_key_file", "verify.cache_sources"} {
		for copied, text := range texts {
			if strings.Contains(text, "mark:"+secret) {
				t.Errorf("the copy for %q has %s", copied, secret)
			}
		}
	}
}

// TestCopyIsRead: a copy says what counts of what is in it, and has its defaults elsewhere.
func TestCopyIsRead(t *testing.T) {
	c := Default()
	c.Agent.MaxTurns, c.Launch.Agents, c.Sandbox.Programs = 7, 9, "/opt/programs"
	c.VM.Tools = map[string][]string{"wc": {"/usr/bin/wc", "-l"}}
	for to, programs := range map[Shown]string{Inside: "", ByHand: "/opt/programs"} {
		got, err := Parse(c.Copy(to), "copy")
		if err != nil {
			t.Fatal(err)
		}
		if got.Agent.MaxTurns != 7 || got.Launch.Agents != 1 || got.Sandbox.Programs != programs || len(got.VM.Tools["wc"]) != 2 || len(got.Prices) == 0 {
			t.Errorf("%s: %+v", to, got)
		}
	}
}

// TestReadInside: what runs in the fence reads no setting that it is not shown: it would
// have the default, whatever the host admin says.
func TestReadInside(t *testing.T) {
	shown, section := map[string]bool{}, reflect.TypeFor[Config]()
	for i := range section.NumField() {
		s := section.Field(i)
		if s.Type.Kind() != reflect.Struct {
			continue
		}
		for j := range s.Type.NumField() {
			shown[s.Name+"."+s.Type.Field(j).Name] = Shown(s.Type.Field(j).Tag.Get("shown")) == Inside
		}
	}
	read := regexp.MustCompile(`(?i:config|settings|\bc|\bcfg)\.([A-Z]\w*)\.([A-Z]\w*)`)
	files, found := 0, 0
	for _, room := range []string{"agent", "bootstrap", "hooks/checks", "hooks/walk", "vm", "protocols"} {
		err := filepath.WalkDir(filepath.Join("../..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			for _, m := range read.FindAllStringSubmatch(string(data), -1) {
				key := fmt.Sprintf("%s.%s", m[1], m[2])
				ok, is := shown[key]
				if is {
					found++
				}
				if is && !ok {
					t.Errorf("%s reads %s, which declares no shown:%q", path, key, Inside)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 || found < 50 {
		t.Errorf("%d settings are read in %d files", found, files)
	}
}
