package manual

import (
	"fmt"
	"strings"
)

// Markdown is the whole book as one document.
func (b *Book) Markdown() string {
	var w strings.Builder
	fmt.Fprintf(&w, "# Commands\n\n%s Printed by `git ward manual --markdown`.\n", b.About)
	for _, g := range b.Groups {
		fmt.Fprintf(&w, "\n## %s\n", strings.ToUpper(g.Title[:1])+g.Title[1:])
		for i := range g.Pages {
			if !g.Pages[i].Hidden {
				g.Pages[i].markdown(&w, "###")
			}
		}
	}
	return w.String()
}

func (p *Page) markdown(w *strings.Builder, heading string) {
	fmt.Fprintf(w, "\n%s %s\n\n%s\n\n```text\n", heading, p.Words, sentence(p.Doc))
	p.WriteUsage(w)
	fmt.Fprintf(w, "```\n")
	if p.Long != "" {
		fmt.Fprintf(w, "\n%s\n", p.Long)
	}
	for i, e := range p.Examples {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "- `git ward %s`: %s\n", e.Line, e.Doc)
	}
	for _, v := range p.Shown() {
		v.markdown(w, heading+"#")
	}
}
