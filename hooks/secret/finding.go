package secret

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// Finding is a secret by its place and its fingerprint. It does not hold the
// secret. Neither String nor JSON shows the fingerprint, from which a weak
// password could be guessed.
type Finding struct {
	Rule        string `json:"rule"`        // gitleaks' id of the rule
	Description string `json:"description"` // what gitleaks says about it
	Line        int    `json:"line"`        // of the secret, from 1; 0 if it is the file
	Col         int    `json:"col"`         // in bytes, from 1; 0 if it is the file
	Start       int    `json:"start"`       // the secret is the bytes from Start
	End         int    `json:"end"`         // to End

	Fingerprint [sha256.Size]byte `json:"-"` // SHA-256 of the secret

	sum  uint64 // checksum of the secret
	file bool   // the secret is the file, found by its name
}

// String names the rule and the place.
func (f Finding) String() string { return fmt.Sprintf("%s at %d:%d", f.Rule, f.Line, f.Col) }

// GoString is String, so that %#v shows no more.
func (f Finding) GoString() string { return f.String() }

// candidates are the findings of one scan in the making.
type candidates struct {
	data  []byte
	found []Finding
}

func (c *candidates) add(r *rule, secret span) {
	text := secret.of(c.data)
	c.found = append(c.found, Finding{
		Rule:        r.id,
		Description: r.description,
		Start:       secret.from,
		End:         secret.to,
		Fingerprint: sha256.Sum256(text),
		sum:         checksum(text),
		file:        r.regex == "",
	})
}

// findings sorts the candidates, drops generic ones covered by a specific one, and adds lines
// and columns.
func (c *candidates) findings() []Finding {
	slices.SortFunc(c.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End),
			cmp.Compare(generic(a.Rule), generic(b.Rule)), cmp.Compare(a.Rule, b.Rule))
	})
	kept, covered := c.found[:0], 0
	line, lineStart := 1, 0
	for _, f := range c.found {
		if generic(f.Rule) == 1 && f.End <= covered {
			continue
		}
		if generic(f.Rule) == 0 {
			covered = max(covered, f.End)
		}
		if !f.file {
			passed := c.data[lineStart:f.Start]
			line += bytes.Count(passed, []byte{'\n'})
			lineStart += bytes.LastIndexByte(passed, '\n') + 1
			f.Line, f.Col = line, f.Start-lineStart+1
		}
		kept = append(kept, f)
	}
	return kept
}

// generic is 1 for rules that recognise a secret by its name, not by its form.
func generic(rule string) int {
	if strings.HasPrefix(rule, "generic-") {
		return 1
	}
	return 0
}
