package manual

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// columns is what every terminal has.
const columns = 80

// Item prints a name and its text in two columns, of which the first has width characters.
func Item(w io.Writer, width int, name, text string) {
	wrap(w, fmt.Sprintf("  %-*s ", width, name), strings.Repeat(" ", width+3), strings.Fields(text), "")
}

// wrap prints words behind a prefix, within the columns. Each further line begins with indent,
// and each but the last ends with end. A word that is longer than a line has one of its own.
func wrap(w io.Writer, prefix, indent string, words []string, end string) {
	line, empty := prefix, true
	for _, word := range words {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word)+len(end) > columns {
			fmt.Fprintln(w, line+end)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(w, line)
}

// usageIndent begins the further lines of a usage line.
const usageIndent = "           "

// groups are a usage line's words, where what brackets hold together is one word if it fits.
func groups(usage string) (words []string) {
	var group []string
	depth := 0
	for _, word := range strings.Fields(usage) {
		group = append(group, word)
		if depth += strings.Count(word, "[") + strings.Count(word, "(") - strings.Count(word, "]") - strings.Count(word, ")"); depth > 0 {
			continue
		}
		if one := strings.Join(group, " "); len(usageIndent)+utf8.RuneCountInString(one) <= columns {
			group = []string{one}
		}
		words, group = append(words, group...), nil
	}
	return append(words, group...)
}

// typed are a command line's words, where what quotes hold together is one word.
func typed(line string) (words []string) {
	open := false
	for _, word := range strings.Split(line, " ") {
		if open {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
		if (strings.Count(word, "'")+strings.Count(word, `"`))%2 == 1 {
			open = !open
		}
	}
	return words
}

// paragraphs prints a text of paragraphs. One that is indented is a table, which stays as it is.
func paragraphs(w io.Writer, text string) {
	for part := range strings.SplitSeq(text, "\n\n") {
		fmt.Fprintln(w)
		if strings.HasPrefix(part, " ") || strings.HasPrefix(part, "\t") {
			fmt.Fprintln(w, part)
			continue
		}
		wrap(w, "", "", strings.Fields(part), "")
	}
}
