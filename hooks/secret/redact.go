package secret

// redactBudget is what the search of one text may cost.
const redactBudget = 4 << 20

// Redactor makes a function that replaces the secrets in a text by the name of
// the rule that knows them, for logs and messages. A text that costs too much to
// search is left out as a whole. The function is not for concurrent use.
func Redactor() func(string) string {
	s := New(0)
	return func(text string) string {
		s.budget = redactBudget
		found, err := s.Scan("", []byte(text))
		if err != nil {
			return "[left out: too much to search for secrets]"
		}
		for i := len(found) - 1; i >= 0; i-- {
			if f := found[i]; f.Start < f.End && f.End <= len(text) {
				text = text[:f.Start] + "[" + f.Rule + "]" + text[f.End:]
			}
		}
		return text
	}
}
