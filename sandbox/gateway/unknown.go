package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/pattern"
)

// New releases of clients send parts that no table here has. A part that only carries text
// passes and is metered as text. What could do more is recognised by its form wherever it is:
// an object with a type of its own is a tool, a source or another part, and must be in a table;
// an address makes the provider fetch, and an id makes it look up stored data.

// acting are part types that stand for the provider's own actions, or have their own price.
var acting = pattern.New(`search|fetch|mcp|container|execution|interpreter|computer|generation|reference|upload|audio|video|compact|server`)

// unknownPart accepts a part of unknown type that carries text.
func unknownPart(f fields, name string, s *seen) error {
	if acting.MatchString(fold(name)) {
		return fmt.Errorf("the gateway does not admit the type %q here: what makes the provider fetch, run or remember is a way around the fence", clip(name))
	}
	carries := false
	for _, m := range f {
		carries = carries || !slices.Contains([]string{"type", "id", "role", "status", "name"}, m.name)
		if err := unknown(m.name, m.value, s); err != nil {
			return fmt.Errorf("%s: %s: %w", clip(name), clip(m.name), err)
		}
	}
	if !carries {
		return fmt.Errorf("%s: an item that carries nothing is a reference to what the provider keeps", clip(name))
	}
	return nil
}

// unknown accepts an unknown member's value.
func unknown(name string, v jsontext.Value, s *seen) error {
	switch fold(name) {
	case "tools":
		return s.tool.run(v, s, name)
	case "cachecontrol":
		return cacheControl(v, s)
	}
	switch v.Kind() {
	case '"':
		return unknownText(name, v)
	case '[':
		return elements(v, func(_ int, element jsontext.Value) error { return unknown(name, element, s) })
	case '0':
		if isID(name) && marked.MatchString(name) {
			return errStored
		}
	case '{':
		if isID(name) {
			return errStored
		}
		return unknownObject(v, s)
	}
	return nil
}

// unknownObject accepts an object that no table has. One with a type is a part of the protocol's
// text, or a JSON Schema, or refused: a type chooses what the provider does with the rest.
func unknownObject(v jsontext.Value, s *seen) error {
	f, err := decodeFields(v)
	if err != nil {
		return err
	}
	if err := f.distinct(); err != nil {
		return err
	}
	for _, m := range f {
		if fold(m.name) == "type" && !isSchemaType(m.value) {
			return s.part(v, s)
		}
	}
	for _, m := range f {
		if err := unknown(m.name, m.value, s); err != nil {
			return fmt.Errorf("%s: %w", clip(m.name), err)
		}
	}
	return nil
}

// schemaTypes are the types of JSON Schema (draft 2020-12, section 6.1.1).
var schemaTypes = []string{`"null"`, `"boolean"`, `"object"`, `"array"`, `"number"`, `"string"`, `"integer"`}

// isSchemaType reports whether a "type" is of a JSON Schema: one of its types, a list of them, or
// the schema of a property with that name, which is held against the rules itself.
func isSchemaType(v jsontext.Value) bool {
	switch v.Kind() {
	case '"':
		return slices.Contains(schemaTypes, string(v))
	case '[':
		all := true
		err := elements(v, func(_ int, element jsontext.Value) error {
			all = all && slices.Contains(schemaTypes, string(element))
			return nil
		})
		return all && err == nil
	}
	return v.Kind() == '{'
}

// ownIDs are names of ids of things in the request itself or of its sender. Any other id is of
// stored data.
var ownIDs = []string{"id", "callid", "toolcallid", "tooluseid", "itemid", "userid", "parentid"}

// marked matches a name whose last word is id. Other words end in these letters, such as valid.
var marked = pattern.New(`(?:[a-z0-9]I|[_-][iI])[dD]s?$`)

var errStored = errors.New("an id of what the provider keeps")

// isID reports whether a name is that of an id of stored data.
func isID(name string) bool {
	folded := fold(name)
	return (strings.HasSuffix(folded, "id") || strings.HasSuffix(folded, "ids")) && !slices.Contains(ownIDs, folded)
}

func unknownText(name string, v jsontext.Value) error {
	if isID(name) {
		return errStored
	}
	if folded := fold(name); address(v) || len(v) > len(`""`) && (strings.HasSuffix(folded, "url") || strings.HasSuffix(folded, "uri")) {
		return errors.New("an address, from which the provider may fetch")
	}
	return nil
}

// address reports whether a string is nothing but an address, as lenient readers take one: they
// skip tabs and line ends, and read a backslash as a slash, or https: without any. It needs a
// scheme and a slash, or is one that needs no slash. Text that contains an address is text.
func address(v jsontext.Value) bool {
	var text string
	if json.Unmarshal(v, &text, jsontext.AllowInvalidUTF8(true)) != nil {
		return true
	}
	text = strings.TrimSpace(text)
	read := strings.NewReplacer("\t", "", "\r", "", "\n", "", `\`, "/").Replace(text)
	if strings.ContainsFunc(read, unicode.IsSpace) {
		return false
	}
	head := fold(read[:min(len(read), 16)])
	for _, begin := range []string{"data:", "www.", "http:", "https:", "//"} {
		if strings.HasPrefix(head, begin) {
			return true
		}
	}
	return strings.Contains(text, "//") && !strings.ContainsFunc(text, unicode.IsSpace) || schemed.MatchString(read)
}

// schemed matches a scheme of RFC 3986 with a path. One letter is a drive.
var schemed = pattern.New(`^[A-Za-z][A-Za-z0-9+.-]+:[^/]*/`)

// fold is a name as lenient readers compare it: without case and separators.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, name)
}

// distinct refuses members that a lenient reader would take for a known one.
func (f fields) distinct() error {
	names := make(map[string]bool, len(f))
	for _, m := range f {
		if name := fold(m.name); names[name] {
			return fmt.Errorf("the member %q is there twice, but for case and marks", clip(m.name))
		} else {
			names[name] = true
		}
	}
	return nil
}

// disguised reports whether a name is a known member in another spelling.
func disguised[T any](name string, members map[string]T) bool {
	folded := fold(name)
	for known := range members {
		if known != name && fold(known) == folded {
			return true
		}
	}
	return false
}

// base64Only reports whether a string is only base64, which is no address.
func base64Only(v jsontext.Value) bool {
	for _, c := range bytes.Trim(v, `"`) {
		if c != '+' && c != '/' && c != '=' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return !bytes.HasPrefix(v, []byte(`"//`))
}
