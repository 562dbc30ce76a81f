package config

import "strings"

// Initial is the settings file that `git ward init` writes: those settings of Shipped whose
// declarations say that people change them. All others keep their default.
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
