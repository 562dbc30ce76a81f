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
