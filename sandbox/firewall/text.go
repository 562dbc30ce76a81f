package firewall

import (
	"fmt"
	"strings"
)

// Text formats a policy as input for `nft -f`, with reasons as comments. The text does not
// depend on the order of the policy's lists.
func Text(p Policy) (string, error) {
	prog, err := compile(p)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#!/usr/sbin/nft -f\n# What may leave a Ward container in mode %q.\n\n", prog.mode)
	fmt.Fprintf(&b, "# Replaced as a whole, in one batch.\nadd table inet %s\ndelete table inet %[1]s\n", tableName)
	fmt.Fprintf(&b, "table inet %s {\n", tableName)
	for _, s := range prog.sets {
		s.text(&b)
	}
	for _, c := range prog.chains {
		c.text(&b)
	}
	// Every block ends with an empty line, the last one with the brace.
	return strings.TrimSuffix(b.String(), "\n") + "}\n", nil
}

func (s set) text(b *strings.Builder) {
	comment(b, "\t", s.why)
	flags := map[kind]string{constant: "constant", interval: "interval", constant | interval: "constant, interval", dynamic: "dynamic"}[s.kind]
	fmt.Fprintf(b, "\tset %s {\n\t\ttype %s\n\t\tflags %s\n", s.name, s.key.Name, flags)
	if s.kind&dynamic != 0 {
		fmt.Fprintf(b, "\t\tsize %d\n", maxMet)
	}
	if len(s.elements) > 0 {
		b.WriteString("\t\telements = {\n")
		for _, e := range s.elements {
			if e.why == "" {
				fmt.Fprintf(b, "\t\t\t%s,\n", e.text)
			} else {
				fmt.Fprintf(b, "\t\t\t%-19s # %s\n", e.text+",", e.why)
			}
		}
		b.WriteString("\t\t}\n")
	}
	b.WriteString("\t}\n\n")
}

func (c chain) text(b *strings.Builder) {
	comment(b, "\t", c.why)
	fmt.Fprintf(b, "\tchain %s {\n", c.name)
	if c.hook != nil {
		fmt.Fprintf(b, "\t\ttype filter hook %s priority filter; policy drop;\n", c.name)
	}
	for _, r := range c.rules {
		comment(b, "\t\t", r.why)
		fmt.Fprintf(b, "\t\t%s\n", r.text())
	}
	b.WriteString("\t}\n\n")
}

func (r rule) text() string {
	words := make([]string, len(r.parts))
	for i, p := range r.parts {
		words[i] = p.text
	}
	return strings.Join(words, " ")
}

func comment(b *strings.Builder, indent, why string) {
	if why != "" {
		fmt.Fprintf(b, "%s# %s\n", indent, why)
	}
}
