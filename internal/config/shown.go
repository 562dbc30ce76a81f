package config

import (
	"bytes"

	"github.com/BurntSushi/toml"
)

// Shown says who sees a setting besides the repository's host. Each setting declares it with
// the tag `shown`. One that declares nothing stays on the host, and the audit has only hashes
// of its texts.
type Shown string

// The values of the tag. With "audit" a setting is shown to who reads the repository, in the
// audit's copy, and so is one with either of these.
const (
	ByHand Shown = "hand"   // another machine that works for the launcher here
	Inside Shown = "inside" // the agent, wherever it runs, and such a machine
)

// Copy is the settings that one of them may see, as TOML that Parse reads. All others have
// their default there.
func (c *Config) Copy(to Shown) []byte {
	sections := map[string]map[string]any{}
	for section, f := range c.fields() {
		shown := Shown(f.tag.Get("shown"))
		if section == "" || shown != Inside && (shown != ByHand || to != ByHand) {
			continue // the prices are the gateway's
		}
		if sections[section] == nil {
			sections[section] = map[string]any{}
		}
		sections[section][f.tag.Get("toml")] = f.value.Interface()
	}
	b := bytes.NewBufferString("# What this machine is shown of ward/config.toml; the rest has its default here.\n")
	encoder := toml.NewEncoder(b)
	encoder.Indent = ""
	if err := encoder.Encode(sections); err != nil {
		panic("settings that were read from TOML cannot be written as TOML: " + err.Error())
	}
	return b.Bytes()
}
