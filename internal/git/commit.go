package git

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Commit is a parsed commit object. Author and Committer are raw
// (`Name <mail> seconds zone`), as are all strings: nothing is re-encoded.
type Commit struct {
	Tree      string
	Parents   []string
	Author    string
	Committer string
	Extra     []Header // what follows the committer: encoding, signatures, merged tags
	Header    string   // all of the above as it stands
	Message   string
}

// Header is one header of a commit; a value of several lines has line feeds, and
// not the space that begins each continuation in the object.
type Header struct{ Key, Value string }

// Encoding is the character encoding that the commit declares, "" for UTF-8.
func (c *Commit) Encoding() string {
	for _, h := range c.Extra {
		if h.Key == "encoding" && !isUTF8(h.Value) {
			return h.Value
		}
	}
	return ""
}

// Text converts one of the commit's strings to UTF-8, as git log does. It changes only strings
// of a commit that declares a legacy encoding.
func (c *Commit) Text(raw string) string {
	if utf8.ValidString(raw) || !isLatin1(c.Encoding()) {
		return raw
	}
	runes := make([]rune, len(raw))
	for i := range len(raw) {
		runes[i] = rune(raw[i]) // ISO-8859-1 is Unicode's first 256 code points
	}
	return string(runes)
}

// ParseCommit reads a commit object. Anything but what git writes is a
// *FormError: headers in another order or twice, names and dates that are not of
// git's form, a NUL, an encoding that readers here do not have. With a FormError
// of one meaning the commit is returned, too.
func ParseCommit(data []byte) (*Commit, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, broken("commit", "it holds a NUL, where some readers end")
	}
	header, message, found := strings.Cut(string(data), "\n\n")
	if !found {
		return nil, broken("commit", "no empty line ends its header")
	}
	c := &Commit{Header: header, Message: message}
	lines := headerLines(header)
	if form := c.parseFixed(&lines); form != nil {
		return nil, form
	}
	if form := c.parseExtra(lines); form != nil {
		return nil, form
	}
	if string(c.encode()) != string(data) { // parse, print, compare (GATE-1)
		return nil, broken("commit", "it is not what git would write")
	}
	if form := c.odd(); form != nil {
		return c, form
	}
	return c, nil
}

// headerLines splits a header into its keys and values. A line that begins with
// a space continues the value before it.
func headerLines(header string) []Header {
	var list []Header
	for line := range strings.SplitSeq(header, "\n") {
		if rest, more := strings.CutPrefix(line, " "); more && len(list) > 0 {
			list[len(list)-1].Value += "\n" + rest
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		list = append(list, Header{key, value})
	}
	return list
}

// parseFixed takes tree, parents, author and committer from the front.
func (c *Commit) parseFixed(lines *[]Header) *FormError {
	next := func(key string) (value string, ok bool) {
		if len(*lines) == 0 || (*lines)[0].Key != key {
			return "", false
		}
		value, *lines = (*lines)[0].Value, (*lines)[1:]
		return value, true
	}
	var ok bool
	if c.Tree, ok = next("tree"); !ok || !IsID(c.Tree) {
		return broken("commit", "its first line does not name a tree")
	}
	for parent, ok := next("parent"); ok; parent, ok = next("parent") {
		if !IsID(parent) {
			return broken("commit", "a parent is not an object id")
		}
		c.Parents = append(c.Parents, parent)
	}
	if c.Author, ok = next("author"); !ok {
		return broken("commit", "an author must follow tree and parents")
	}
	if c.Committer, ok = next("committer"); !ok {
		return broken("commit", "a committer must follow the author")
	}
	if strings.Contains(c.Author+c.Committer, "\n") {
		return broken("commit", "its author or committer has a second line")
	}
	return nil
}

// fixed are the headers with a place of their own; once are those that git writes
// no more than once after them.
var (
	fixed = []string{"tree", "parent", "author", "committer"}
	once  = []string{"encoding", "gpgsig", "gpgsig-sha256"}
)

// parseExtra takes what follows the committer.
func (c *Commit) parseExtra(lines []Header) *FormError {
	seen := map[string]bool{}
	for _, h := range lines {
		switch {
		case slices.Contains(fixed, h.Key):
			return broken("commit", "%s stands behind the committer, where some readers believe it", h.Key)
		case !isHeaderKey(h.Key):
			return broken("commit", "%q is not a header", h.Key[:min(len(h.Key), 40)])
		case seen[h.Key] && slices.Contains(once, h.Key):
			return broken("commit", "the header %s stands there twice", h.Key)
		}
		seen[h.Key] = true
		c.Extra = append(c.Extra, h)
	}
	return nil
}

// isHeaderKey reports whether a word is of the form that git's headers and those of
// other tools have (HG:rename, svn-id).
func isHeaderKey(key string) bool {
	return key != "" && len(key) <= 64 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:.") == ""
}

// encode prints the commit.
func (c *Commit) encode() []byte {
	var b bytes.Buffer
	line := func(key, value string) {
		b.WriteString(key + " " + strings.ReplaceAll(value, "\n", "\n ") + "\n")
	}
	line("tree", c.Tree)
	for _, p := range c.Parents {
		line("parent", p)
	}
	line("author", c.Author)
	line("committer", c.Committer)
	for _, h := range c.Extra {
		line(h.Key, h.Value)
	}
	b.WriteString("\n" + c.Message)
	return b.Bytes()
}

// odd says what git would not write of a commit that has one meaning.
func (c *Commit) odd() *FormError {
	for i, p := range c.Parents {
		if slices.Contains(c.Parents[:i], p) {
			return odd("commit", "the parent %s is named twice", p[:12])
		}
	}
	for _, who := range []struct{ name, ident string }{{"author", c.Author}, {"committer", c.Committer}} {
		if what := badIdent(who.ident); what != "" {
			return odd("commit", "the %s %s", who.name, what)
		}
	}
	encoding := c.Encoding()
	if encoding == "" {
		return nil
	}
	form := odd("commit", "its encoding is neither UTF-8 nor one that is read here")
	if isLatin1(encoding) {
		form = legacy("commit", "its text is in ISO-8859-1, not in UTF-8")
	}
	form.Remedy = "write it in UTF-8: git config i18n.commitEncoding UTF-8, then git commit --amend"
	return form
}

func isUTF8(encoding string) bool {
	return strings.EqualFold(encoding, "UTF-8") || strings.EqualFold(encoding, "utf8")
}

func isLatin1(encoding string) bool {
	return slices.ContainsFunc([]string{"ISO-8859-1", "ISO8859-1", "latin1", "latin-1"}, func(s string) bool { return strings.EqualFold(s, encoding) })
}

// badIdent says how a name with mail and date departs from git's form, `Name
// <mail> seconds +hhmm`; "" for git's own (fsck.c, fsck_ident).
func badIdent(ident string) string {
	name, rest, ok := strings.Cut(ident, "<")
	if !ok || strings.ContainsAny(name, ">\n") {
		return "has no mail address in angle brackets"
	}
	if !strings.HasSuffix(name, " ") { // the name itself may be empty
		return "has no space before the mail address"
	}
	if name = name[:len(name)-1]; strings.TrimSpace(name) != name {
		return "has white space around the name, which git drops"
	}
	mail, date, ok := strings.Cut(rest, "> ")
	if !ok || strings.ContainsAny(mail, "<>\n") || strings.TrimSpace(mail) != mail {
		return "has a broken mail address"
	}
	seconds, zone, ok := strings.Cut(date, " ")
	if !ok || !isDecimal(seconds) || len(zone) != 5 || zone[0] != '+' && zone[0] != '-' || strings.Trim(zone[1:], "0123456789") != "" {
		return "has a date that is not of the form `seconds +hhmm`"
	}
	if zone == "-0000" {
		return "has the zone -0000, which git reads and writes as +0000"
	}
	return ""
}

// maxSeconds is the width of the largest date that git reads: 64 bits, signed.
const maxSeconds = len("9223372036854775807")

// isDecimal reports whether s is a whole number as it is printed, below 10^18.
func isDecimal(s string) bool {
	return s != "" && len(s) < maxSeconds && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
}
