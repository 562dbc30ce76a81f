package charter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"git-ward/internal/diag"
)

// Protocol is a set of rules with an id (PROT-1).
type Protocol struct {
	ID          string
	Description string
	Rules       []Rule
	Tools       []string // associated_tools
	Artifacts   []string // associated_artifacts
}

// Rule is one rule of a protocol and how it is enforced.
type Rule struct {
	ID          string
	Description string
	Enforcement string
}

// The members of a protocol and of a rule, in the order in which they are
// explained to people.
var (
	protocolMembers = []string{"protocol_id", "description", "rules", "associated_tools", "associated_artifacts", titleMember}
	ruleMembers     = []string{"rule_id", "description", "enforcement", "associated_tools"}
)

// titleMember is a title for people, which the sources' protocols may have.
const titleMember = "protocol_name"

// Parse reads a protocol and reports every fault with line and column. With an error among the
// findings, the protocol must not be used.
func Parse(f File) (Protocol, []diag.Diagnostic) {
	p := &parser{report: report{file: f}}
	if !p.sized() {
		return Protocol{}, p.found
	}
	root, fault := readNode(f.Data)
	if fault != nil {
		p.add(fault.offset, "protocol/json", fault.message, fault.hint)
		return Protocol{}, p.found
	}
	protocol := p.protocol(&root)
	return protocol, p.found
}

// parser walks a protocol's nodes.
type parser struct {
	report
	ids []definedID // for the tree, which finds doubles
}

// definedID is the id of a protocol or a rule, and where it stands: a byte offset.
type definedID struct {
	kind, id string
	offset   int
}

func (p *parser) protocol(root *node) (out Protocol) {
	if !p.isKind(root, '{', "a protocol") {
		return out
	}
	p.known(root, protocolMembers)
	out.ID = p.id(root, "protocol_id")
	if root.member(titleMember) != nil {
		p.words(root, titleMember)
	}
	out.Description = p.words(root, "description")
	if rules := p.required(root, "rules"); rules != nil && p.isKind(rules, '[', "rules") {
		for i := range rules.parts {
			if rule := &rules.parts[i]; p.isKind(rule, '{', "a rule") {
				p.known(rule, ruleMembers)
				p.list(rule, "associated_tools")
				out.Rules = append(out.Rules, Rule{p.id(rule, "rule_id"), p.words(rule, "description"), p.words(rule, "enforcement")})
			}
		}
	}
	out.Tools = p.list(root, "associated_tools")
	out.Artifacts = p.list(root, "associated_artifacts")
	return out
}

// known reports members that there are not.
func (p *parser) known(n *node, members []string) {
	for _, m := range n.parts {
		if slices.Contains(members, m.name) {
			continue
		}
		hint := "the members there are: " + strings.Join(members, ", ")
		if near := diag.Nearest(m.name, members); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		p.add(m.nameStart, "protocol/member", fmt.Sprintf("unknown member %q", clip(m.name)), hint)
	}
}

// required is a member that must be there, nil with a finding when it is not.
func (p *parser) required(n *node, name string) *node {
	m := n.member(name)
	if m == nil {
		hint := fmt.Sprintf("add %q", name)
		if name == "protocol_id" && n.member(titleMember) != nil {
			hint += fmt.Sprintf("; %q is a title for people, and no id", titleMember)
		}
		p.add(n.start, "protocol/member", fmt.Sprintf("the member %q is missing", name), hint)
	}
	return m
}

var kindNames = map[byte]string{'{': "an object", '[': "an array", '"': "a string", 'n': "null", 't': "a boolean", 'f': "a boolean", '0': "a number"}

func (p *parser) isKind(n *node, kind byte, what string) bool {
	if byte(n.kind) == kind {
		return true
	}
	p.add(n.start, "protocol/kind", fmt.Sprintf("%s is %s, not %s", what, kindNames[byte(n.kind)], kindNames[kind]), "write "+kindNames[kind])
	return false
}

// words is a member that holds text for a reader.
func (p *parser) words(n *node, name string) string {
	m := p.required(n, name)
	if m == nil || !p.isKind(m, '"', name) {
		return ""
	}
	switch bad := unprintable(m.text); {
	case strings.TrimSpace(m.text) == "":
		p.add(m.start, "protocol/text", fmt.Sprintf("%s is empty", name), "say what it is")
	case bad != "":
		p.add(m.start, "protocol/text", fmt.Sprintf("%s holds %s", name, bad), "retype it: people and models must read the same")
	}
	return m.text
}

// maxID bounds ids, which stand in commit trailers and findings.
const maxID = 100

func (p *parser) id(n *node, name string) string {
	m := p.required(n, name)
	if m == nil || !p.isKind(m, '"', name) {
		return ""
	}
	if !IsID(m.text) {
		p.add(m.start, "protocol/id", fmt.Sprintf("%q is not an id", clip(m.text)),
			fmt.Sprintf("use a letter, then letters, digits, dots, dashes and underscores, at most %d", maxID))
		return m.text
	}
	p.ids = append(p.ids, definedID{name, m.text, m.start})
	return m.text
}

// IsID reports whether a text is a valid id of a protocol or rule.
func IsID(s string) bool {
	if s == "" || len(s) > maxID || !isLetter(s[0]) {
		return false
	}
	return !strings.ContainsFunc(s, func(ch rune) bool {
		return ch > unicode.MaxASCII || !isLetter(byte(ch)) && (ch < '0' || ch > '9') && !strings.ContainsRune("._-", ch)
	})
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// list is an optional member with names, each once.
func (p *parser) list(n *node, name string) (names []string) {
	m := n.member(name)
	if m == nil || !p.isKind(m, '[', name) {
		return nil
	}
	for i := range m.parts {
		e := &m.parts[i]
		if !p.isKind(e, '"', "an entry of "+name) {
			continue
		}
		switch {
		case !IsName(e.text):
			p.add(e.start, "protocol/text", fmt.Sprintf("%q in %s is not a name", clip(e.text), name), "write a tool or a path on one line")
		case slices.Contains(names, e.text):
			p.add(e.start, "protocol/duplicate", fmt.Sprintf("%q stands in %s already", clip(e.text), name), "give it once")
		}
		names = append(names, e.text)
	}
	return names
}

// maxName bounds the name of a tool or artifact.
const maxName = 200

// IsName reports whether a text is a valid name of a tool or artifact: one line of printable
// text.
func IsName(s string) bool {
	return s != "" && len(s) <= maxName && strings.TrimSpace(s) == s && diag.Clean(s) == s
}

// IsText reports whether a text is a valid description.
func IsText(s string) bool { return strings.TrimSpace(s) != "" && unprintable(s) == "" }

// unprintable names the first character that is invisible, a control character, or unassigned.
// Newlines and tabs are allowed.
func unprintable(text string) string {
	h, hidden := diag.FindHidden(text, true)
	for i, ch := range text {
		if hidden && i == h.At || ch == unicode.ReplacementChar || !unicode.IsGraphic(ch) && !unicode.In(ch, unicode.Cc, unicode.Cf, unicode.Mn) {
			return fmt.Sprintf("the character %U", ch)
		}
	}
	return ""
}

// clip shortens text from a file for a message.
func clip(s string) string { return diag.Cut(s, 60) }
