package secret

import (
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"
)

// A rule is one of gitleaks' rules: what its regex matches is a secret, unless it is too
// regular or an allowlist matches. anchors, value, reach and run are derived from the regex by
// internal/shape, and say where to try it.
type rule struct {
	id, description string

	regex   string      // none: the path alone decides
	path    string      // the paths the rule is for; none: all
	entropy float64     // a secret has more bits a character than this
	group   int         // the group that is the secret; 0: the first that matched
	allow   []allowlist // any of them excuses a match

	anchors []anchor // a match holds one of them,
	apart   bool     // or else they may be anywhere, and
	head    []int    // a match begins with this: see anchor.then
	value   *value   // the match is an assignment to the anchor, or else
	reach   int      // it has at most that many bytes, and
	run     int      // any number of bytes of this set,
	atStart bool     // and begins with the anchor
}

// anchor is a literal, in lower case if any case will do. then says which bytes
// follow it: pairs of a set, by its place in sets, and how many bytes of it.
type anchor struct {
	text string
	fold bool
	then []int
}

// value describes rules of gitleaks' template for assignments: a name with the
// anchor in front, an operator, perhaps a quote, the value, and its end.
type value struct {
	before int  // bytes of the name before the anchor, at most
	gap    int  // bytes between anchor and operator, at most
	set    int  // what the value is made of
	min    int  // its least length
	max    int  // its greatest length; 0: none
	closed bool // what ends it is not of set
	ends   []reach
}

// reach bounds one alternative of a value that has no greatest length: bound bytes, and any
// number of those of run.
type reach struct{ bound, run int }

// allowlist excuses a match when regex matches the target, which is the secret, the
// match around it, or its lines, or when the secret has one of the stopwords in it,
// whatever the target is. Stopwords are in lower case, with a blank between two.
type allowlist struct {
	target    string
	regex     string
	stopwords string
}

// goSum excludes what gitleaks excludes by file name: the hashes of go.sum, which follow a
// module's name as a secret follows a key's name. A line must have the form of go.sum, in any
// file.
var goSum = allowlist{
	target: "line",
	regex:  `^[\w.~!+/-]+ v[\w.+-]+ h1:[A-Za-z0-9+/]{43}=$`,
}

// byteSet has a bit for each byte, the lowest bit of the first byte first.
type byteSet string

func (s byteSet) has(b byte) bool { return s[b>>3]>>(b&7)&1 != 0 }

// table is what internal/gen makes of gitleaks' rules: a field a line, its name first. A
// line that begins with + goes on where the line before it ended.
//
//go:embed rules.txt
var table string

// load reads a table: its rules, the allowlists of all of them, and the sets of bytes that
// they refer to by their place.
func load(table string) (rules []rule, global []allowlist, sets []byteSet) {
	var all rule // whose allowlists come before the first rule
	r := &all
	for line := range strings.SplitSeq(strings.ReplaceAll(table, "\n+", ""), "\n") {
		field, v, _ := strings.Cut(line, " ")
		switch field {
		case "rule":
			rules = append(rules, rule{})
			r = &rules[len(rules)-1]
			r.id, r.description, _ = strings.Cut(v, " ")
		case "regex":
			r.regex = v
		case "path":
			r.path = v
		case "entropy":
			r.entropy, _ = strconv.ParseFloat(v, 64)
		case "group":
			r.group = numbers(v)[0]
		case "allow":
			r.allow = append(r.allow, allowlist{target: v})
		case "excuse":
			r.allow[len(r.allow)-1].regex = v
		case "stopwords":
			r.allow[len(r.allow)-1].stopwords = v
		case "anchor", "fold":
			r.anchors = append(r.anchors, anchor{text: v, fold: field == "fold"})
		case "then":
			r.anchors[len(r.anchors)-1].then = numbers(v)
		case "apart":
			r.apart, r.head = true, numbers(v)
		case "value":
			n := numbers(v)
			r.value = &value{before: n[0], gap: n[1], set: n[2], min: n[3], max: n[4]}
		case "closed":
			r.value.closed = true
		case "end":
			n := numbers(v)
			r.value.ends = append(r.value.ends, reach{n[0], n[1]})
		case "reach":
			r.reach = numbers(v)[0]
		case "run":
			r.run = numbers(v)[0]
		case "start":
			r.atStart = true
		case "set":
			bits, _, _ := strings.Cut(v, " ") // and what it looks like
			set, _ := hex.DecodeString(bits)
			sets = append(sets, byteSet(set))
		case "#", "": // a comment, and the end
		default:
			panic("the table of secrets has a field " + field) // it is part of the program
		}
	}
	return rules, all.allow, sets
}

// numbers reads what is written with a blank between.
func numbers(s string) (all []int) {
	for field := range strings.FieldsSeq(s) {
		n, _ := strconv.Atoi(field)
		all = append(all, n)
	}
	return all
}
