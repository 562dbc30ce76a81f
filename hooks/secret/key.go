package secret

import (
	"cmp"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// keyRule is gitleaks' rule for private keys, and minKey the least that it takes for one, in bytes.
const (
	keyRule = "private-key"
	minKey  = 64
)

// keyEdge is where a private key begins or ends, as in keyRule.
var keyEdge = pattern.New(`(?i)-----(BEGIN|END)[ A-Z0-9_-]{0,100}?PRIVATE KEY(?: BLOCK)?-----`)

// keyGap is what parts the lines of a key, as texts have it that are quoted or made one line.
const keyGap = `(?:\\[nrt]|[^\w=]){1,16}`

// keyLines matches base64 lines at the end of a text: complete ones, after the rest of a cut
// one at the beginning, and before a key's last line and checksum.
var keyLines = pattern.New(`(?:\A[\w+/=]+` + keyGap + `)?(?:[a-zA-Z0-9+/]{16,}={0,2}` + keyGap + `)*(?:[a-zA-Z0-9+/=]+` + keyGap + `){0,2}\z`)

// keys are a text's private keys, including those of which a cut left only the begin or the
// end: from a begin to the text's end or maxReach, and the base64 before a lone end.
func keys(text string) (found []span) {
	open, from := -1, 0 // the last begin without an end, and the end of the last edge
	for _, m := range keyEdge.Regexp().FindAllStringSubmatchIndex(text, -1) {
		if open >= 0 && m[0]-open > maxReach {
			from = open + maxReach
			found, open = append(found, span{open, from}), -1
		}
		switch begins := strings.EqualFold(text[m[2]:m[3]], "BEGIN"); {
		case begins && open >= 0:
			found, open = append(found, span{open, m[0]}), m[0]
		case begins:
			open = m[0]
		case open < 0:
			from = max(from, m[0]-maxReach)
			found = append(found, span{from + keyLines.Regexp().FindStringIndex(text[from:m[0]])[0], m[1]})
		default:
			if m[0]-from >= minKey {
				found = append(found, span{open, m[1]})
			}
			open = -1
		}
		from = m[1]
	}
	if open >= 0 {
		found = append(found, span{open, min(len(text), open+maxReach)})
	}
	return found
}

// taken is a part of a text that is taken out, and the rule that knows it.
type taken struct {
	span
	rule string
}

// take finds what is taken out of a text, in its order and apart from each other. With ErrBudget
// it returns what was found so far.
func (s *Scanner) take(text string) ([]taken, error) {
	s.budget = redactBudget
	found, err := s.Scan("", []byte(text))
	var all []taken
	for _, f := range found {
		if f.Start < f.End {
			all = append(all, taken{span{f.Start, f.End}, f.Rule})
		}
	}
	for _, k := range keys(text) {
		all = append(all, taken{k, keyRule})
	}
	slices.SortStableFunc(all, func(a, b taken) int { return cmp.Compare(a.from, b.from) })
	apart := all[:0]
	for _, t := range all {
		if n := len(apart); n > 0 && t.from < apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, t.to)
			continue
		}
		apart = append(apart, t)
	}
	return apart, err
}
