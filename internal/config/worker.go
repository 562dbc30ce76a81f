package config

import (
	"slices"
	"strings"
)

// Provider is the vendor whose API a call to a model uses.
type Provider string

// The providers that the gateway forwards to.
const (
	Anthropic Provider = "anthropic"
	OpenAI    Provider = "openai"
)

// Kind is how a worker works.
type Kind int

// The kinds of workers.
const (
	API     Kind = iota // a model, asked by its provider's API
	Program             // a coding agent of its own that people know (agent/preset)
	Command             // any command line
	Script              // prepared turns
)

// Worker is one value of [model] name.
type Worker struct {
	Name     string
	Kind     Kind
	Provider Provider // "" for none, or where the model's name says whose it is
	NeedsID  bool     // whether [model] id has to be set: there is no choice of its own
	Program  string   // of a Program: its name on PATH
	Package  string   // of a Program: what `npm install` brings it by
	// Family is what the names begin with of the models that the program chooses itself,
	// where it is told none, or by an alias. Each release has its own choice.
	Family  string
	Aliases []string // names that the program makes one of the family of
}

// Workers lists all of them, in the order in which people see them.
func Workers() []Worker {
	return []Worker{
		{Name: "anthropic", Kind: API, Provider: Anthropic, NeedsID: true},
		{Name: "openai", Kind: API, Provider: OpenAI, NeedsID: true},
		{Name: "claude-code", Kind: Program, Provider: Anthropic, Program: "claude", Package: "@anthropic-ai/claude-code",
			Family: "claude-", Aliases: []string{"default", "best", "opus", "sonnet", "haiku", "opusplan"}},
		{Name: "codex", Kind: Program, Provider: OpenAI, Program: "codex", Package: "@openai/codex",
			Family: "gpt-"},
		{Name: "opencode", Kind: Program, NeedsID: true, Program: "opencode", Package: "opencode-ai"},
		{Name: "exec", Kind: Command},
		{Name: "script", Kind: Script},
	}
}

// FindWorker is the worker of a name; ok is false where there is none.
func FindWorker(name string) (w Worker, ok bool) {
	for _, w := range Workers() {
		if w.Name == name {
			return w, true
		}
	}
	return Worker{}, false
}

// WorkerNames lists what [model] name can be, for messages.
func WorkerNames() string {
	var names []string
	for _, w := range Workers() {
		names = append(names, w.Name)
	}
	return strings.Join(names, ", ")
}

// ProviderOf is the provider whose API a worker uses for a model ([model] id), "" for none. A
// program of several providers takes it from the model's name: "anthropic/..." and "claude..."
// mean Anthropic's API, all others OpenAI's.
func (w Worker) ProviderOf(id string) Provider {
	switch {
	case w.Provider != "" || w.Kind != Program:
		return w.Provider
	case strings.HasPrefix(id, "anthropic/") || strings.HasPrefix(id, "claude"):
		return Anthropic
	}
	return OpenAI
}

// Models lists the models that may be called, by exact name: [model] id and [model] also.
// Where id is empty or an alias, the entry is the family of the program's own models, which
// ends in *. An empty list admits none.
func (c *Config) Models() []string {
	worker, _ := FindWorker(c.Model.Name)
	list := slices.Clone(c.Model.Also)
	id := c.Model.ID
	if worker.Family != "" && (id == "" || slices.Contains(worker.Aliases, id)) {
		return append(list, worker.Family+"*")
	}
	if id == "" {
		return list
	}
	list = append(list, id)
	// A program of several providers names the model after one: the rest is what it asks for.
	if _, name, found := strings.Cut(id, "/"); found && worker.Kind == Program && worker.Provider == "" {
		list = append(list, name)
	}
	return list
}
