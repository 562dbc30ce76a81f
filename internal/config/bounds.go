package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"git-ward/internal/filename"
)

// rule looks at a setting's values: those of a list, or the one of a text. Its error
// names the key.
type rule func(key string, values []string) error

// rules are the bounds of texts and lists of texts that have any. Numbers have theirs in
// ranges.
var rules = map[string]rule{
	"identity.from":            source,
	"identity.pm":              pushers,
	"identity.agents":          pushers,
	"identity.members":         pushers,
	"control.branch":           branch,
	"control.project":          branch,
	"rights.protected":         patterns,
	"rights.protected_on_main": patterns,
	"audit.foreign":            foreign,
	"rights.new_root":          oneOf(Review, Ask),
	"hooks.mode":               oneOf(Enforce, Observe),
	"hooks.max_udc_risk":       oneOf("LOW", "MEDIUM", "UNKNOWN", "HIGH"),
	"egress.mode":              oneOf("public", "allowlist"),
	"sandbox.runtime":          oneOf("runc", "crun", "runsc", "krun"),
	"egress.refuse":            networks,
	"kube.namespace":           clusterName,
	"kube.image":               imageName,
	"kube.gate":                gateAddress,
	"kube.service_account":     clusterName,
	"kube.node_selector":       nodeLabels,
	"kube.runtime_class":       clusterName,
	"loop.profile":             oneOf("strict", "fast", "benchmark_adapt"),
	"verify.network":           oneOf("none", "public"),
	"verify.cache":             someOf("go", "npm", "pip"),
	"verify.cache_sources":     sources,
	"verify.controls":          someOf("broken"),
	"model.id":                 modelNames,
	"model.also":               modelNames,
	"model.api":                oneOf("responses", "chat"),
	"model.prompt":             oneOf("stdin", "file"),
	"bootstrap.build":          commandLine,
	"bootstrap.validate":       commandLine,
	"bootstrap.run":            commandLine,
	"notify.command":           commandLine,
	"forge.kind":               oneOf("gitea", "github", "gitlab"),
	"forge.branches":           oneOf("fork", "project"),
}

// check holds what a file sets to its bounds, in the order of the file.
func (c *Config) check(meta toml.MetaData) error {
	settings := c.settings()
	for _, key := range meta.Keys() {
		if v, ok := settings[strings.Join(key, ".")]; ok {
			err := within(strings.Join(key, "."), v)
			if err == nil && strings.HasPrefix(strings.Join(key, "."), "vm.") {
				err = c.checkTools()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// within holds one setting to its bounds.
func within(key string, v reflect.Value) error {
	if err := inRange(key, v); err != nil {
		return err
	}
	rule := rules[key]
	if rule == nil {
		return nil
	}
	if list, ok := v.Interface().([]string); ok {
		return rule(key, list)
	}
	return rule(key, []string{v.String()})
}

// networks are addresses and prefixes. One without a length would close everything, which
// is what mode "allowlist" is for.
func networks(key string, values []string) error {
	for _, v := range values {
		if _, err := netip.ParseAddr(v); err == nil && !strings.Contains(v, "%") {
			continue
		}
		p, err := netip.ParsePrefix(v)
		if err != nil {
			return fmt.Errorf("%s has %q, which is neither an address nor a prefix such as 198.51.100.0/24", key, v)
		}
		if p.Bits() == 0 {
			return fmt.Errorf("%s has %q, which is every address: `[egress] mode = \"allowlist\"` closes them all", key, v)
		}
	}
	return nil
}

// modelNames are exact: the gateway compares them byte by byte, so that a pattern, which
// looks as if it let more through, would let nothing through.
func modelNames(key string, values []string) error {
	for _, v := range values {
		if strings.ContainsAny(v, "*? \t\n") || v == "" && key != "model.id" {
			return fmt.Errorf("%s names %q: models are named exactly, such as \"claude-sonnet-5-5\"", key, v)
		}
	}
	return nil
}

func oneOf(words ...string) rule {
	return func(key string, values []string) error {
		if !slices.Contains(words, values[0]) {
			return fmt.Errorf("%s is %q, not one of %s", key, values[0], strings.Join(words, ", "))
		}
		return nil
	}
}

func someOf(words ...string) rule {
	return func(key string, values []string) error {
		for _, v := range values {
			if !slices.Contains(words, v) {
				return fmt.Errorf("%s names %q, not one of %s", key, v, strings.Join(words, ", "))
			}
		}
		return nil
	}
}

// patterns are those of paths that only the PM may change.
func patterns(key string, values []string) error {
	for _, v := range values {
		if err := filename.CheckPattern(v); err != nil {
			return fmt.Errorf("%s: %q %w", key, v, err)
		}
	}
	return nil
}

// sources are where a cache is filled from, in the variables of the tools that fill it.
func sources(key string, values []string) error {
	for _, v := range values {
		name, _, ok := strings.Cut(v, "=")
		if strings.HasPrefix(v, hidden) { // as the audit keeps it
			continue
		}
		if !ok || !slices.Contains([]string{"GOPROXY", "GONOSUMDB", "GOPRIVATE", "npm_config_registry", "PIP_INDEX_URL"}, name) {
			return fmt.Errorf("%s has %q, which is none of GOPROXY=, GONOSUMDB=, GOPRIVATE=, npm_config_registry= and PIP_INDEX_URL=", key, name)
		}
	}
	return nil
}

// commandLine is a command's words; none is no command.
func commandLine(key string, values []string) error {
	if len(values) > 0 && values[0] == "" {
		return fmt.Errorf("%s begins with an empty word; leave the list empty for none", key)
	}
	return nil
}

// foreign are directories of refs that a forge moves by itself.
func foreign(key string, values []string) error {
	for _, v := range values {
		if why := badForeign(v); why != "" {
			return fmt.Errorf("%s names %q, %s", key, v, why)
		}
	}
	return nil
}

// badForeign says why refs below a prefix are not a forge's own to move; "" when
// they can be.
func badForeign(prefix string) string {
	if !strings.HasPrefix(prefix, "refs/") || !strings.HasSuffix(prefix, "/") || strings.Contains(prefix, "//") || prefix == "refs/" {
		return "which is not a folder of refs like refs/pull/"
	}
	for _, kept := range []string{"refs/heads/", "refs/notes/", "refs/ward/", "refs/replace/"} {
		if strings.HasPrefix(prefix, kept) {
			return "below " + kept + ", where the audit records every move"
		}
	}
	return ""
}
