package manual

import (
	"fmt"
	"io"
	"strings"
)

// Version and Date stand at the foot of a man page: Ward's version, and the date of its
// release, so that every build gives the same bytes.
type Version struct{ Number, Date string }

// Man returns the man pages in man(7) format by file name: git-ward.1 and one for each
// command.
func (b *Book) Man(v Version) map[string]string {
	pages := map[string]string{"git-ward.1": b.man(v)}
	for _, g := range b.Groups {
		for i := range g.Pages {
			if p := &g.Pages[i]; !p.Hidden {
				pages[dashed(p.Words)+".1"] = p.man(v)
			}
		}
	}
	return pages
}

func dashed(words string) string { return strings.ReplaceAll(words, " ", "-") }

// man is git-ward(1).
func (b *Book) man(v Version) string {
	var w strings.Builder
	title(&w, "git ward", b.About, v)
	fmt.Fprintf(&w, ".SH SYNOPSIS\n.B git ward\n.I command\n.RI [ args ]\n.SH DESCRIPTION\n")
	prose(&w, b.About+`

Alone, in a repository or a clone of Ward's, it shows what waits for you there.
Each command has a page of its own, and "git ward help COMMAND" shows it on any terminal.`)
	for _, g := range b.Groups {
		fmt.Fprintf(&w, ".SH %s\n", quoted(strings.ToUpper(g.Title)))
		for _, p := range g.Pages {
			if !p.Hidden {
				fmt.Fprintf(&w, ".TP\n.BR %s (1)\n%s\n", text(dashed(p.Words)), line(p.Doc))
			}
		}
	}
	fmt.Fprintf(&w, ".SH EXIT STATUS\n.TP\n0\nclean\n.TP\n1\nfindings, or a refusal\n.TP\n2\nwrong usage, or trouble\n.TP\n130\ninterrupted by its user\n")
	fmt.Fprintf(&w, ".SH SEE ALSO\n.BR git (1)\n")
	return w.String()
}

// synopsis is usage lines, the flags and arguments of each below its words where it is long.
func synopsis(w io.Writer, usage []string) {
	for _, u := range usage {
		words := strings.SplitAfterN(u, " ", 2)
		fmt.Fprintf(w, ".HP\n\\fB%s\\fP", text(Ward+strings.TrimSpace(words[0])))
		if len(words) > 1 {
			fmt.Fprintf(w, "\n%s", line(words[1]))
		}
		fmt.Fprintln(w)
	}
}

// man is the page of a command and its verbs.
func (p *Page) man(v Version) string {
	var w strings.Builder
	title(&w, p.Words, p.Doc, v)
	fmt.Fprintf(&w, ".SH SYNOPSIS\n")
	synopsis(&w, p.Usage)
	fmt.Fprintf(&w, ".SH DESCRIPTION\n")
	if p.Long == "" {
		prose(&w, sentence(p.Doc))
	} else {
		prose(&w, p.Long)
	}
	options(&w, ".SH OPTIONS\n", p.Options())
	for i, verb := range p.Shown() {
		if i == 0 {
			fmt.Fprintf(&w, ".SH VERBS\n%s\n", line(sentence(p.Heading())))
		}
		fmt.Fprintf(&w, ".SS %s\n", quoted(verb.Name()))
		synopsis(&w, verb.Usage)
		fmt.Fprintf(&w, ".PP\n")
		prose(&w, sentence(verb.Doc))
		if verb.Long != "" {
			fmt.Fprintf(&w, ".PP\n")
			prose(&w, verb.Long)
		}
		options(&w, "", verb.Options())
		examples(&w, "", verb.Examples)
	}
	examples(&w, ".SH EXAMPLES\n", p.Examples)
	fmt.Fprintf(&w, ".SH SEE ALSO\n.BR git\\-ward (1)\n")
	return w.String()
}

func title(w io.Writer, words, doc string, v Version) {
	fmt.Fprintf(w, ".TH %s 1 %s %s %s\n.SH NAME\n%s \\- %s\n", strings.ToUpper(text(dashed(words))), v.Date, quoted("Ward "+v.Number), quoted("Ward"),
		text(dashed(words)), text(doc))
}

func options(w io.Writer, heading string, flags []Flag) {
	for i, f := range flags {
		if i == 0 {
			fmt.Fprint(w, heading)
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fP", text(f.Dashed()))
		if f.Value != "" {
			fmt.Fprintf(w, " \\fI%s\\fP", text(f.Value))
		}
		fmt.Fprintf(w, "\n%s\n", line(f.Text))
	}
}

func examples(w io.Writer, heading string, list []Example) {
	for i, e := range list {
		if i == 0 {
			fmt.Fprint(w, heading)
		}
		fmt.Fprintf(w, ".TP\n\\fB%s\\fP\n%s\n", text(Ward+e.Line), line(e.Doc))
	}
}

// prose writes paragraphs; one whose lines are indented is a table, and stays as it is.
func prose(w io.Writer, long string) {
	for i, part := range strings.Split(strings.TrimSpace(long), "\n\n") {
		if i > 0 {
			fmt.Fprintln(w, ".PP")
		}
		if !strings.HasPrefix(part, "  ") {
			fmt.Fprintln(w, line(part))
			continue
		}
		fmt.Fprintln(w, ".nf")
		for l := range strings.SplitSeq(part, "\n") {
			fmt.Fprintln(w, text(l))
		}
		fmt.Fprintln(w, ".fi")
	}
}

// text is words within a line of roff.
func text(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// line is text from the beginning of a line, folded as mandoc would have its source; a dot or
// a quote there would be a request.
func line(s string) string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines) - 1; n >= 0 && len(lines[n])+len(word) < 60 {
			lines[n] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	for i, l := range lines {
		if lines[i] = text(l); strings.HasPrefix(l, ".") {
			lines[i] = `\&` + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

func quoted(s string) string { return `"` + strings.ReplaceAll(text(s), `"`, `\(dq`) + `"` }

// sentence makes a table's line one.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
