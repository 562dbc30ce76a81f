package charter

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestSeed: the twelve protocols of the source, in its own words, have no findings and are
// compiled with all of their rules (PROT-1, PROT-2).
func TestSeed(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/protocols002.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var files []File
	var rules []string
	for _, f := range archive.Files {
		files = append(files, File{f.Name, f.Data})
		var p struct {
			ID    string `json:"protocol_id"`
			Rules []struct {
				ID string `json:"rule_id"`
			} `json:"rules"`
		}
		if err := json.Unmarshal(f.Data, &p); err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Rules {
			rules = append(rules, p.ID+" "+r.ID)
		}
	}
	for _, found := range Check(files) {
		t.Error(found)
	}
	compiled, err := Compile(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		_, id, _ := strings.Cut(rule, " ")
		if !strings.Contains(string(compiled), `"rule_id": "`+id+`"`) {
			t.Errorf("the compiled text has no rule %s", rule)
		}
	}
	for line := range strings.Lines(string(readFile(t, "testdata/seed002.txt"))) {
		if rule := strings.TrimSpace(line); !strings.HasPrefix(rule, "#") && !slices.Contains(rules, rule) {
			t.Errorf("the protocols have no %s", rule)
		}
	}
	if len(files) != 12 || len(rules) != 34 {
		t.Errorf("%d protocols, %d rules", len(files), len(rules))
	}
}
