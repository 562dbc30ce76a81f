package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/sandbox/gateway"
)

// Model checks what the configured worker needs from the host: its program, the model's name,
// a key, and network access.
func Model(c *config.Config, getenv func(string) string) []Finding {
	e := &examiner{root: true}
	name := c.Model.Name
	if name == "" {
		e.add("[model] name", Missing, `set it to "claude-code", say; git ward config lists the choices`, "is empty: nobody works")
		return e.found
	}
	e.add("[model] name", Fine, "", "%s", name)
	worker, _ := config.FindWorker(name)
	if worker.NeedsID && c.Model.ID == "" {
		e.add("[model] id", Missing, "set it to the model's name at the provider", "is empty, and %s has no choice of its own", name)
	}
	e.models(c, worker)
	if err := gateway.CheckNames(c.Egress.Allow); err != nil {
		e.add("[egress] allow", Missing, strings.Join(diag.Hints(err), "; "), "%v", err)
	}
	if worker.Kind == config.Program {
		e.provided(c.Sandbox.Programs, worker)
	}
	m := c.Model
	switch provider := worker.ProviderOf(m.ID); provider {
	case config.Anthropic:
		e.key(provider, m.AnthropicURL, m.AnthropicKeyFile, getenv("ANTHROPIC_API_KEY"))
		e.subscription(worker, m.AnthropicKeyFile, getenv("ANTHROPIC_API_KEY"))
	case config.OpenAI:
		e.key(provider, m.OpenAIURL, m.OpenAIKeyFile, getenv("OPENAI_API_KEY"))
	default:
		return e.found
	}
	way := "the model is reached by the gateway; the public internet is open besides"
	if c.Egress.Mode == "allowlist" {
		way = "the model is reached by the gateway; no name has to be allowed for it"
	}
	e.add("[egress] mode", Fine, "", "%s: %s", c.Egress.Mode, way)
	return e.found
}

// models says which models the gateway refuses, and which calls it counts at the highest
// price.
func (e *examiner) models(c *config.Config, w config.Worker) {
	if w.Kind == config.Command && len(c.Models()) == 0 {
		e.add("[model] also", Warning, "name the models that the command calls, if it calls any", "is empty, and so is id: the gateway calls no model")
	}
	prices, err := gateway.ReadPrices(c.Prices)
	if err != nil {
		e.add("[[prices]]", Missing, "mend it in ward/config.toml", "%v", err)
		return
	}
	for _, model := range c.Models() {
		if !prices.Knows(model) {
			e.add("[[prices]]", Warning, "add a table for it, with its prices of a million tokens", "has none for %q: it counts as the dearest there is", model)
		}
	}
}

// provided looks for a program in the directories that the fence has.
func (e *examiner) provided(dir string, w config.Worker) {
	mend := "npm install --prefix DIR " + w.Package + `, then [sandbox] programs = "DIR"`
	if dir == "" {
		e.add("[sandbox] programs", Missing, mend, "is empty, so %s is not in the fence unless the image has it", w.Program)
		return
	}
	for _, bin := range []string{"bin", "node_modules/.bin"} {
		path := filepath.Join(dir, bin, w.Program)
		if _, err := os.Stat(path); err == nil {
			e.add(w.Program, Fine, "", "%s", path)
			e.readable(dir)
			return
		}
	}
	e.add(w.Program, Missing, strings.Replace(mend, "DIR", dir, 2), "is neither in bin/ nor in node_modules/.bin/ of %s", dir)
}

// readable checks the permission bits for others: the fence's user is unknown to the host.
func (e *examiner) readable(dir string) {
	if info, err := os.Stat(dir); err == nil && info.Mode()&0o005 != 0o005 {
		e.add("[sandbox] programs", Missing, "chmod -R o+rX "+dir, "cannot be read inside the fence (mode %04o)", info.Mode().Perm())
	}
}

// subscription says of a subscriber's token that the provider takes it from Claude Code alone.
func (e *examiner) subscription(w config.Worker, file, variable string) {
	key, err := gateway.NewKey(variable)
	if file != "" {
		key, err = gateway.ReadKey(file)
	}
	if err == nil && key.Subscription() && w.Name != "claude-code" {
		e.add("anthropic's key", Warning, `[model] name = "claude-code", or a key of the API`, "is a subscriber's token, which Anthropic takes from Claude Code alone")
	}
}

func (e *examiner) key(provider config.Provider, url, file, variable string) {
	thing := string(provider) + "'s key"
	switch {
	case file != "":
		if _, err := gateway.ReadKey(file); err != nil {
			e.add(thing, Missing, "put the key alone into the file, mode 0600", "%v", err)
			return
		}
		e.add(thing, Fine, "", "in %s; it stays on the host", file)
	case variable != "":
		e.add(thing, Fine, "", "in the environment; it stays on the host")
	case strings.HasPrefix(url, "http://"):
		e.add(thing, Fine, "", "not needed for %s", url)
	default:
		e.add(thing, Missing, "[model] "+string(provider)+"_key_file = \"FILE\", mode 0600", "there is none: calls would be refused")
	}
}
