package config

import (
	"slices"
	"strings"
	"testing"
)

// Every worker is named above [model] name in config.toml, and nothing else is.
func TestWorkersAreDocumented(t *testing.T) {
	_, section, _ := strings.Cut(Shipped, "\n[model]\n")
	comment, _, _ := strings.Cut(section, "\nname = ")
	var quoted []string
	for i, part := range strings.Split(comment, `"`) {
		if i%2 == 1 {
			quoted = append(quoted, part)
		}
	}
	names := strings.Split(WorkerNames(), ", ")
	slices.Sort(quoted)
	if sorted := slices.Sorted(slices.Values(names)); !slices.Equal(quoted, sorted) {
		t.Errorf("config.toml names %q, the table %q", quoted, sorted)
	}
	for _, name := range names {
		if w, ok := FindWorker(name); !ok || w.Name != name || (w.Kind == Program) != (w.Program != "") {
			t.Errorf("%s: %+v", name, w)
		}
	}
	if w, ok := FindWorker(""); ok {
		t.Error(w)
	}
}

func TestProviderOf(t *testing.T) {
	for _, test := range []struct {
		worker, id string
		want       Provider
	}{
		{"anthropic", "any", Anthropic},
		{"openai", "claude-of-another", OpenAI},
		{"claude-code", "", Anthropic},
		{"codex", "", OpenAI},
		{"opencode", "claude-x", Anthropic},
		{"opencode", "anthropic/x", Anthropic},
		{"opencode", "gpt-x", OpenAI},
		{"opencode", "own/claude", OpenAI},
		{"exec", "claude", ""},
		{"script", "", ""},
	} {
		if w, ok := FindWorker(test.worker); !ok || w.ProviderOf(test.id) != test.want {
			t.Errorf("%s %s: %q", test.worker, test.id, w.ProviderOf(test.id))
		}
	}
}

// TestModels: what may be called is a list of exact names, the family of a program's own
// choices where it has the choice, and empty where nothing is said.
func TestModels(t *testing.T) {
	for _, test := range []struct {
		worker, id string
		also, want []string
	}{
		{"anthropic", "claude-x", nil, []string{"claude-x"}},
		{"openai", "vendor/name", []string{"small"}, []string{"small", "vendor/name"}},
		{"claude-code", "claude-x", nil, []string{"claude-x"}},
		{"claude-code", "", []string{"small"}, []string{"small", "claude-*"}},
		{"claude-code", "opus", nil, []string{"claude-*"}},
		{"codex", "", nil, []string{"gpt-*"}},
		{"codex", "default", nil, []string{"default"}},
		{"opencode", "anthropic/claude-x", nil, []string{"anthropic/claude-x", "claude-x"}},
		{"opencode", "router/vendor/name", nil, []string{"router/vendor/name", "vendor/name"}},
		{"exec", "", nil, nil},
		{"", "", nil, nil},
	} {
		c := Default()
		c.Model.Name, c.Model.ID, c.Model.Also = test.worker, test.id, test.also
		if got := c.Models(); !slices.Equal(got, test.want) {
			t.Errorf("%s %q: %q, want %q", test.worker, test.id, got, test.want)
		}
	}
}

// The family of each program's own choices stands in config.toml's words.
func TestFamiliesAreDocumented(t *testing.T) {
	for _, w := range Workers() {
		if w.Family != "" && !strings.Contains(Shipped, w.Family+"*") {
			t.Errorf("config.toml does not say that %s may call %s*", w.Name, w.Family)
		}
	}
}
