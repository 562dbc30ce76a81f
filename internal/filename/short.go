package filename

import "strings"

// short is what the names have in common that Windows gives to one long name, such
// as GITHUB~1 to .github (8.3 names).
type short struct {
	base    string // at most 6 characters; the first that fit before ~1
	ext     string // at most 3
	open    bool   // the long name is a pattern, and may go on behind base in any way
	openExt bool   // the same for its ext
}

// shortOf is the short form of a name's key; ok is false where the name is short
// enough to have none.
func shortOf(key string) (s short, ok bool) {
	name := strings.TrimLeft(key, ".")
	base, ext := name, ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		base, ext = name[:i], name[i+1:]
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '.':
			return -1
		case strings.ContainsRune("+,;=[]", r):
			return '_'
		}
		return r
	}, base)
	if name == key && plain == base && len(base) <= 8 && len(ext) <= 3 {
		return short{}, false
	}
	plain, _, s.open = strings.Cut(plain, "*")
	ext, _, s.openExt = strings.Cut(ext, "*")
	s.base, s.ext = plain[:min(6, len(plain))], ext[:min(3, len(ext))]
	return s, true
}

// matches reports whether a name's key may be one of the short names: its beginning,
// or two letters and four digits of a hash, then ~ and a number. Git's own test for
// .gitmodules asks for the one hash that .gitmodules has; which numbers and hashes a
// name gets depends on its neighbours, so here any will do.
func (s short) matches(key string) bool {
	tilde := strings.LastIndexByte(key, '~')
	if tilde < 1 {
		return false
	}
	base := key[:tilde]
	number, ext, _ := strings.Cut(key[tilde+1:], ".")
	if number == "" || len(base)+1+len(number) > 8 || strings.Trim(number, "0123456789") != "" {
		return false
	}
	if ext != s.ext && !(s.openExt && strings.HasPrefix(ext, s.ext)) {
		return false
	}
	if s.open && strings.HasPrefix(base, s.base) {
		return true
	}
	room := 7 - len(number) // for what stands before ~
	hashed := len(s.base) >= 2 && len(base) == room && strings.HasPrefix(base, s.base[:2]) && strings.Trim(base[2:], "0123456789abcdef") == ""
	return hashed || len(base) == min(len(s.base), room) && strings.HasPrefix(s.base, base)
}
