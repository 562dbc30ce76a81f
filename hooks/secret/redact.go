package secret

import (
	"slices"
	"strings"
)

// redactBudget is what the search of one text may cost.
const redactBudget = 4 << 20

// Redactor makes a function that replaces the secrets in a text by the name of
// the rule that knows them, for logs and messages, and half a private key as a whole one. A text that costs too much to
// search is left out as a whole. The function is not for concurrent use.
func Redactor() func(string) string {
	s := New(0)
	return func(text string) string {
		found, err := s.take(text)
		if err != nil {
			return "[left out: too much to search for secrets]"
		}
		var clean strings.Builder
		from := 0
		for _, t := range found {
			clean.WriteString(text[from:t.from] + "[" + t.rule + "]")
			from = t.to
		}
		return clean.String() + text[from:]
	}
}

// Redact does the same in place to texts that belong together: what is known from
// one of them for a secret is taken out of all, quoted or cut as it may be there.
func Redact(texts ...*string) {
	s := New(0)
	done := map[string]string{} // many of them are the same
	var known []string
	for _, text := range texts {
		if _, ok := done[*text]; ok || *text == "" {
			continue
		}
		done[*text] = *text
		found, _ := s.take(*text)
		for _, t := range found {
			if k := (*text)[t.from:t.to]; !slices.Contains(known, k) {
				known = append(known, k)
			}
		}
	}
	if len(known) == 0 {
		return
	}
	slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) })
	redact := Redactor()
	for text := range done {
		clean := redact(text) // names the rule
		for _, k := range known {
			clean = strings.ReplaceAll(clean, k, "[secret]")
		}
		done[text] = clean
	}
	for _, text := range texts {
		if *text != "" {
			*text = done[*text]
		}
	}
}
