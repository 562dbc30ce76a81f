package secret

// A rule is one of gitleaks' rules: what the regex matches is a secret, unless
// it is too regular or an allowlist knows it. anchors, value, reach and run are
// derived from the regex by internal/shape and say where it has to be tried.
type rule struct {
	id, description string

	regex   string      // none: the path alone decides
	path    string      // the paths the rule is for; none: all
	entropy float64     // a secret has more bits a character than this
	group   int         // the group that is the secret; 0: the first that matched
	allow   []allowlist // any of them excuses a match

	anchors []anchor // a match holds one of them,
	apart   bool     // or else they may be anywhere, and
	head    string   // a match begins with this: see anchor.then
	value   *value   // the match is an assignment to the anchor, or else
	reach   int      // it has at most that many bytes, and
	run     uint8    // any number of bytes of this set,
	atStart bool     // and begins with the anchor
}

// anchor is a literal, in lower case if any case will do. then says which bytes
// follow it: pairs of a set and how many bytes of it.
type anchor struct {
	text string
	fold bool
	then string
}

// value describes rules of gitleaks' template for assignments: a name with the
// anchor in front, an operator, perhaps a quote, the value, and its end.
type value struct {
	before int   // bytes of the name before the anchor, at most
	gap    int   // bytes between anchor and operator, at most
	set    uint8 // what the value is made of
	min    int   // its least length
	max    int   // its greatest length; 0: none
	closed bool  // what ends it is not of set
	ends   []reach
}

// reach bounds one alternative of a value that has no greatest length: bound bytes, and any
// number of those of run.
type reach struct {
	bound int
	run   uint8
}

// allowlist excuses a match when regex or one of the stopwords (a line each)
// matches the target: the secret, the match around it, or its lines. Stopwords
// always look at the secret.
type allowlist struct {
	target    string
	regex     string
	stopwords string
}

// goSum excuses what gitleaks excuses by the file's name: the hashes of go.sum,
// which follow a module's name as a secret follows the name of a key. A line
// must have the form of go.sum; which file it is in does not matter.
var goSum = allowlist{
	target: "line",
	regex:  `^[\w.~!+/-]+ v[\w.+-]+ h1:[A-Za-z0-9+/]{43}=$`,
}

// byteSet has a bit for each byte, the lowest bit of the first byte first.
type byteSet string

func (s byteSet) has(b byte) bool { return s[b>>3]>>(b&7)&1 != 0 }
