package git

import (
	"bytes"
	"strings"
)

// Tag is a parsed tag object; strings are raw.
type Tag struct {
	Object  string // what it points to
	Kind    string // the kind of object that it says it points to
	Name    string
	Tagger  string // "" for a tag of before 2005
	Header  string // all of the above as it stands
	Message string // with the signature, if any, at its end
}

// ParseTag reads a tag object. Anything but what git writes is a *FormError, a
// header that git does not know included.
func ParseTag(data []byte) (*Tag, error) {
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, broken("tag", "it holds a NUL, where some readers end")
	}
	header, message, found := strings.Cut(string(data), "\n\n")
	if !found {
		return nil, broken("tag", "no empty line ends its header")
	}
	t := &Tag{Header: header, Message: message}
	lines := strings.Split(header, "\n")
	for i, field := range []struct {
		key   string
		value *string
	}{{"object", &t.Object}, {"type", &t.Kind}, {"tag", &t.Name}, {"tagger", &t.Tagger}} {
		if i == 3 && len(lines) == 3 {
			break
		}
		value, ok := "", false
		if i < len(lines) {
			value, ok = strings.CutPrefix(lines[i], field.key+" ")
		}
		if !ok || value == "" {
			return nil, broken("tag", "line %d is not its %s", i+1, field.key)
		}
		*field.value = value
	}
	switch {
	case len(lines) > 4:
		return nil, broken("tag", "it has headers that git does not write")
	case !IsID(t.Object):
		return nil, broken("tag", "its object is not an object id")
	case t.Tagger == "":
		return t, legacy("tag", "it has no tagger")
	}
	if what := badIdent(t.Tagger); what != "" {
		return t, odd("tag", "the tagger %s", what)
	}
	return t, nil
}
