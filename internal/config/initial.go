package config

import "strings"

// Initial is the settings file that `git ward init` writes: the settings that people change,
// which their declarations mark, as Shipped has them. What it leaves out has its default.
func Initial() string {
	var b strings.Builder
	b.WriteString("# Ward's settings. Here are those that people change most. `git ward config` prints\n" +
		"# all of them with their defaults, and whatever of it stands here counts.\n")
	last := ""
	for section, f := range new(Config).fields() {
		if f.tag.Get("init") == "" {
			continue
		}
		if section != last {
			b.WriteString("\n[" + section + "]\n")
			last = section
		}
		p := find(Shipped, section+"."+f.tag.Get("toml"))
		b.WriteString(Shipped[p.begin:p.to] + "\n")
	}
	return b.String()
}
