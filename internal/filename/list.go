package filename

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// A List is paths by pattern, as in [rights] protected: names are compared by Key, and with
// the short names that Windows gives them. A pattern matches at every depth, unless it begins
// with a slash. One that ends in a slash matches a directory with everything below it, or
// anything else of that name. `*` matches any part of a name.
type List struct {
	first map[string][]*pattern // by the key of the first name, where it is no wildcard
	loose []*pattern            // the others
	all   []*pattern
}

type pattern struct {
	parts    []part
	anchored bool // from the root only
	dir      bool // with all below it
}

type part struct {
	key   string
	wild  bool
	short short
	long  bool // short holds
}

// CheckPattern returns an error for a pattern that a List cannot have.
func CheckPattern(text string) error {
	body := strings.TrimSuffix(strings.TrimPrefix(text, "/"), "/")
	switch {
	case !utf8.ValidString(text):
		return errors.New("is not UTF-8")
	case body == "":
		return errors.New("names no path")
	case strings.ContainsAny(body, `\?[]`):
		return errors.New("holds a character that has no meaning here; `*` is the only wildcard")
	case strings.Contains(body, "**"):
		return errors.New("holds `**`; a pattern without a slash in front fits at every depth anyway")
	}
	for name := range strings.SplitSeq(body, "/") {
		if Key(name) == "" {
			return fmt.Errorf("holds %q, which is no name", name)
		}
	}
	return nil
}

// NewList makes a list of patterns. One that CheckPattern refuses matches nothing.
func NewList(patterns ...string) *List {
	l := &List{first: map[string][]*pattern{}}
	for _, text := range patterns {
		if CheckPattern(text) != nil {
			continue
		}
		p := &pattern{anchored: strings.HasPrefix(text, "/"), dir: strings.HasSuffix(text, "/")}
		for name := range strings.SplitSeq(strings.Trim(text, "/"), "/") {
			one := part{key: Key(name), wild: strings.Contains(name, "*")}
			one.short, one.long = shortOf(one.key)
			p.parts = append(p.parts, one)
		}
		l.all = append(l.all, p)
		if p.parts[0].wild {
			l.loose = append(l.loose, p)
		} else {
			l.first[p.parts[0].key] = append(l.first[p.parts[0].key], p)
		}
	}
	return l
}

// Covers reports whether a slash-separated path is one of the list's.
func (l *List) Covers(path string) bool {
	var room [16]string // on the stack for most paths
	names := room[:0]
	for name := range strings.SplitSeq(path, "/") {
		names = append(names, Key(name))
	}
	for i, name := range names {
		candidates := l.first[name]
		if strings.Contains(name, "~") {
			candidates = l.all
		}
		for _, list := range [][]*pattern{candidates, l.loose} {
			for _, p := range list {
				if (i == 0 || !p.anchored) && p.fits(names[i:]) {
					return true
				}
			}
		}
	}
	return false
}

// Leads reports whether a listed path may lie below this path. If so, a link here could
// redirect it.
func (l *List) Leads(path string) bool {
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		names = append(names, Key(name))
	}
	for i := range names {
		for _, p := range l.all {
			if (i == 0 || !p.anchored) && p.leads(names[i:]) {
				return true
			}
		}
	}
	return false
}

// leads reports whether the pattern goes on behind names, keys of a path's rest.
func (p *pattern) leads(names []string) bool {
	if len(names) >= len(p.parts) {
		return false
	}
	for i, name := range names {
		if !p.parts[i].fits(name) {
			return false
		}
	}
	return true
}

// fits reports whether names, keys of a path's rest, begin with the pattern.
func (p *pattern) fits(names []string) bool {
	if len(names) < len(p.parts) || len(names) > len(p.parts) && !p.dir {
		return false
	}
	for i := range p.parts {
		if !p.parts[i].fits(names[i]) {
			return false
		}
	}
	return true
}

func (p *part) fits(key string) bool {
	if p.wild {
		if ok, err := path.Match(p.key, key); ok && err == nil {
			return true
		}
	} else if p.key == key {
		return true
	}
	return p.long && p.short.matches(key)
}

// Is reports whether a component of a path is a name, in some spelling.
func Is(component, name string) bool {
	key, want := Key(component), Key(name)
	if key == want {
		return true
	}
	s, long := shortOf(want)
	return long && s.matches(key)
}
