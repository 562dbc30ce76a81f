package comms

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// Held is the number of held-out criteria, which only the host has, and the SHA-256 of everything held
// out, in hex (PROOF-5). Its zero value means none.
type Held struct {
	Count  int
	SHA256 string
}

// keyHeld is the key of the option for held-out criteria.
const keyHeld = "held"

// MaxHeld bounds the held-out criteria of one directive.
const MaxHeld = 100

// held parses `COUNT SHA256`.
func (v *valueReader) held(to *Held) {
	count, sum, _ := strings.Cut(v.text, " ")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > MaxHeld || strconv.Itoa(n) != count || len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
		v.bad(0, "git ward directive hold D-n writes the line: COUNT SHA256", "%s is no number of criteria and hash", quote(v.text))
		return
	}
	*to = Held{n, sum}
}

// CriteriaOf parses a text of criteria, each with a command; anything else is an error. An empty text
// has none.
func CriteriaOf(text string) ([]Criterion, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	doc, found := Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: held out\n\n" + text + "\n\n## Reports\n"))
	if diag.HasErrors(found) || len(doc.Directives) != 1 {
		return nil, errors.New("it is more than criteria")
	}
	list := doc.Directives[0].Criteria
	for _, c := range list {
		if c.Command == "" {
			return nil, fmt.Errorf("%s has no command", quote(c.Text))
		}
	}
	switch {
	case len(list) == 0:
		return nil, errors.New("there is no criterion in it")
	case len(list) > MaxHeld:
		return nil, fmt.Errorf("%d criteria are more than %d", len(list), MaxHeld)
	}
	return list, nil
}

// Holding is the change that records what the PM holds out of a directive. It replaces an earlier record
// and changes the directive's hash.
type Holding struct {
	Directive string // "D-1"
	Held      Held   // zero to hold out nothing
}

func (c Holding) amend(data []byte, _ Room) (Amended, error) {
	return amendDirective(data, c.Directive, func(d *Directive) string {
		text := withoutLines(d.Raw, func(line string) bool { return strings.HasPrefix(line, "- "+keyHeld+":") })
		if c.Held.Count > 0 {
			text += fmt.Sprintf("- %s: %d %s\n", keyHeld, c.Held.Count, c.Held.SHA256)
		}
		return text
	})
}
