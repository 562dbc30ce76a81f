package manual

import (
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// Candidate is a word that can come next, with its description.
type Candidate struct{ Word, Doc string }

// Wanted is what can come next on a command line: words, and kinds of values, which are the
// capital words of usage lines (D-n, FILE).
type Wanted struct {
	Words []Candidate
	Kinds []string
}

// Next says how the last of words, perhaps empty, can be completed. The words are those after
// the page's own.
func (p *Page) Next(words []string) Wanted {
	last := words[len(words)-1]
	var args []string
	for i := 0; i < len(words)-1; i++ {
		word := words[i]
		f := p.flag(word)
		switch {
		case word == "--":
			return p.values(len(args))
		case f != nil && !f.Switch && !strings.Contains(word, "=") && i == len(words)-2:
			return f.values()
		case f != nil && !f.Switch && !strings.Contains(word, "="):
			i++
		case strings.HasPrefix(word, "-"):
		default:
			if len(args) == 0 {
				if v := p.verb(word); v != nil {
					return v.Next(words[i+1:])
				}
			}
			args = append(args, word)
		}
	}
	if strings.HasPrefix(last, "-") {
		return p.dashes()
	}
	wanted := p.values(len(args))
	if len(args) == 0 {
		for _, v := range p.Shown() {
			wanted.Words = append(wanted.Words, Candidate{v.Name(), v.Doc})
		}
	}
	return wanted
}

func (p *Page) verb(name string) *Page {
	for i := range p.Verbs {
		if p.Verbs[i].Name() == name {
			return &p.Verbs[i]
		}
	}
	return nil
}

// flag is the one that a word names, with --name=value too; nil without one.
func (p *Page) flag(word string) *Flag {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	for i := range p.Flags {
		if strings.HasPrefix(word, "-") && p.Flags[i].Name == name {
			return &p.Flags[i]
		}
	}
	return nil
}

// dashes are the flags, and the one that every command has.
func (p *Page) dashes() (w Wanted) {
	for _, f := range p.Options() {
		w.Words = append(w.Words, Candidate{f.Dashed(), f.Text})
	}
	w.Words = append(w.Words, Candidate{"--help", "show the manual"})
	return w
}

// code matches a constant that a flag's text lists, such as EXIT_BLOCKED.
var code = pattern.New(`\b[A-Z][A-Z_]{2,}\b`)

// values are those of a flag: a kind, or the codes that its text lists.
func (f *Flag) values() (w Wanted) {
	for _, word := range code.FindAllString(f.Text, -1) {
		if word != f.Value && (f.Value == "CODE" || f.Value == "STATUS") {
			w.Words = append(w.Words, Candidate{word, ""})
		}
	}
	if len(w.Words) == 0 {
		w.Kinds = []string{f.Value}
	}
	return w
}

var (
	flagPart  = pattern.New(`\[[^\[\]]*-[^\[\]]*\]|-{1,2}[a-z][a-z-]*( [A-Z][A-Za-z:]*)?`)
	valueWord = pattern.New(`[A-Z][A-Za-z.-]*`)
)

// values are the kinds of the argument at a place, from 0, as the usage lines have them. The
// last is taken for all that come after it where there are dots.
func (p *Page) values(at int) (w Wanted) {
	for _, usage := range p.Usage {
		tokens := strings.Fields(flagless(usage))
		tokens = tokens[min(len(tokens), strings.Count(strings.TrimPrefix(p.Words, Ward), " ")+1):]
		if len(tokens) == 0 {
			continue
		}
		i := at
		if last := strings.Join(tokens, " "); i >= len(tokens) && strings.Contains(last, "...") {
			i = len(tokens) - 1
		}
		if i < len(tokens) {
			for _, kind := range valueWord.FindAllString(strings.ReplaceAll(tokens[i], "...", ""), -1) {
				if !slices.Contains(w.Kinds, kind) {
					w.Kinds = append(w.Kinds, kind)
				}
			}
		}
	}
	return w
}

// flagless is a usage line without its flags: `take [--squash] D-n|D-n.k [COMMIT]` is
// `take D-n|D-n.k [COMMIT]`. D-n is no flag: a dash inside a word is the word's.
func flagless(usage string) string {
	usage = strings.NewReplacer("D-n.k", "UNIT", "D-n", "DIRECTIVE").Replace(usage)
	usage = strings.ReplaceAll(flagPart.ReplaceAllString(usage, ""), " ...", "...")
	return usage
}
