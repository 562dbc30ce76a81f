package comms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// Included is a path that the PM declared as work, with its mode and blob. With another mode
// or blob, the path needs another include (PROOF-1).
type Included struct {
	Path string
	Mode string // git's mode: 100644, 100755, 120000, 160000; 000000 for a deleted path
	Blob string // object id; all zeros for a deleted path
}

// maxIncluded bounds the included paths of one directive. For more, the PM can write a glob.
const maxIncluded = 1000

// line returns the option's line in a directive.
func (i Included) line() string {
	return "- " + keyInclude + ": " + i.Mode + " " + i.Blob + " " + QuotePath(i.Path)
}

// includedModes are the allowed modes.
var includedModes = []string{"100644", "100755", "120000", "160000", "000000"}

// include parses `MODE BLOB PATH`. The option may be repeated.
func (v *valueReader) include(to *[]Included) {
	mode, rest, _ := strings.Cut(v.text, " ")
	blob, quoted, _ := strings.Cut(rest, " ")
	path, err := UnquotePath(quoted)
	switch {
	case err != nil || path == "" || !slices.Contains(includedModes, mode) || len(blob) != 40 && len(blob) != 64 || strings.Trim(blob, "0123456789abcdef") != "":
		v.bad(0, "git ward include D-n writes such lines: MODE BLOB PATH", "%s is no mode, blob and path", quote(v.text))
	case len(*to) == maxIncluded:
		v.bad(0, "say it by a line - work: GLOB", "a directive includes at most %d paths", maxIncluded)
	default:
		*to = append(*to, Included{path, mode, blob})
	}
}

// QuotePath writes a path for an option's value. It uses Go's quotes if the path has an
// invisible character, or one that could end the value.
func QuotePath(path string) string {
	quoted := strconv.QuoteToASCII(path)
	if quoted == `"`+path+`"` && strings.TrimSpace(path) == path && diag.Clean(path) == path && !strings.Contains(path, "`") {
		return path
	}
	return quoted
}

// UnquotePath reverses QuotePath.
func UnquotePath(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	return strconv.Unquote(text)
}

// isWordOnClaim reports whether a line of a directive is a decision on a claim: an included path, that
// guards are enough, or that nothing need be changed.
func isWordOnClaim(line string) bool {
	return slices.ContainsFunc([]string{keyInclude, keyGuards, keyMayHold}, func(key string) bool { return strings.HasPrefix(line, "- "+key+":") })
}

// withoutWords removes the PM's decisions on a claim from a directive, because they do not change its
// hash.
func withoutWords(raw string) string { return withoutLines(raw, isWordOnClaim) }

// withoutLines removes lines for which goes is true from a directive.
func withoutLines(raw string, goes func(line string) bool) string {
	var b strings.Builder
	for line := range strings.Lines(raw) {
		if !goes(line) {
			b.WriteString(line)
		}
	}
	if b.Len() == len(raw) {
		return raw
	}
	text := b.String()
	end := len(strings.TrimRight(text, " \t\r\n"))
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 { // as Raw ends
		text = text[:end+i+1]
	}
	return text
}

// Inclusion is the change that declares paths of a claim as a directive's work, with their
// modes and blobs. For a path that was included before, the new entry counts.
type Inclusion struct {
	Directive string // "D-1"
	Paths     []Included
	Guards    bool // criteria that held before the work are enough
	MayHold   bool // nothing had to be changed
}

// Said reports whether a directive already has these includes.
func (c Inclusion) Said(d *Directive) bool {
	missing := func(i Included) bool { return !slices.Contains(d.Options.Included, i) }
	return !slices.ContainsFunc(c.Paths, missing) && (!c.Guards || d.Options.Guards != "") && (!c.MayHold || d.Options.MayHold != "")
}

func (c Inclusion) amend(data []byte, _ Room) (Amended, error) {
	return amendDirective(data, c.Directive, func(d *Directive) string {
		list := slices.Clone(d.Options.Included)
		for _, p := range c.Paths {
			list = slices.DeleteFunc(list, func(i Included) bool { return i.Path == p.Path })
			list = append(list, p)
		}
		text := withoutWords(d.Raw)
		if c.Guards || d.Options.Guards != "" {
			text += "- " + keyGuards + ": " + guardsEnough + "\n"
		}
		if c.MayHold || d.Options.MayHold != "" {
			text += "- " + keyMayHold + ": " + mayHoldYes + "\n"
		}
		for _, i := range list {
			text += i.line() + "\n"
		}
		return text
	})
}

// amendDirective replaces a directive's text.
func amendDirective(data []byte, name string, text func(*Directive) string) (Amended, error) {
	doc, err := parseSound(data)
	if err != nil {
		return Amended{}, err
	}
	d := doc.Directive(name)
	if d == nil {
		return Amended{}, fmt.Errorf("COMMS.md has no %s", name)
	}
	for _, e := range doc.layout.parts[directives].entries {
		if e.id == d.ID {
			end := min(e.start+len(doc.layout.raw(e)), len(data))
			out := slices.Concat(data[:e.start], []byte(text(d)), data[end:])
			after, _ := Parse(out)
			draft := d.Draft()
			if now := after.Directive(name); now != nil {
				draft = now.Draft()
			}
			return doc.changed(data, out, draft, Set{})
		}
	}
	return Amended{}, fmt.Errorf("COMMS.md has no %s: %w", name, ErrUnsound)
}
