package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fields are an object's members in order. Values are slices of the source text, so that a
// body is in memory only once.
type fields []member

type member struct {
	name  string
	value jsontext.Value
}

// wellFormed reads a request once, token by token, without keeping it. It refuses invalid
// JSON, bodies beyond the limits, and duplicate members at any depth, because the provider
// might read another value than the one checked here.
func wellFormed(body []byte, l Limits) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	for n := 0; ; n++ {
		if kind, have := d.StackIndex(d.StackDepth()); kind == '{' && have%2 == 0 && (have >= 2*maxMembers || longName(body[d.InputOffset():])) {
			return fmt.Errorf("an object with more than %d members, or a name of more than %d bytes", maxMembers, maxName)
		}
		_, err := d.ReadToken()
		switch depth := d.StackDepth(); {
		case err == io.EOF && n > 0:
			return nil
		case err != nil:
			return fmt.Errorf("not a JSON object with each member once: %w", err)
		case depth == 0 && d.InputOffset() < int64(len(body)) && len(bytes.TrimSpace(body[d.InputOffset():])) > 0:
			return errors.New("not a JSON object with each member once: more than one value")
		case depth > l.Depth:
			return fmt.Errorf("more than %d levels deep", l.Depth)
		case n > l.Values:
			return fmt.Errorf("more than %d names and values", l.Values)
		}
	}
}

// longName reports whether the next string is too long for a name. A decoder would copy it.
func longName(text []byte) bool {
	if text = bytes.TrimLeft(text, " \t\r\n,"); len(text) == 0 || text[0] != '"' {
		return false
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return false
		case i > maxName:
			return true
		case text[i] == '\\':
			i++
		}
	}
	return false
}

// decodeFields reads an object's members, without checking for duplicates.
func decodeFields(v jsontext.Value) (fields, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errors.New("not an object")
	}
	var f fields
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		if m.value, err = d.ReadValue(); err != nil {
			return nil, err
		}
		if f = append(f, m); len(f) > maxMembers {
			return nil, fmt.Errorf("more than %d members", maxMembers)
		}
	}
	_, err := d.ReadToken()
	return f, err
}

// elements visits an array's elements up to the first error.
func elements(v jsontext.Value, each func(i int, element jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return errors.New("not an array")
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		element, err := d.ReadValue()
		if err == nil {
			err = each(i, element)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep removes members that the table lacks, and lists them. It refuses those that a lenient
// reader would take for one of the table.
func (f *fields) keep(members map[string]check) (dropped []string, err error) {
	kept := (*f)[:0]
	for _, m := range *f {
		switch _, known := members[m.name]; {
		case known:
			kept = append(kept, m)
		case disguised(m.name, members):
			return nil, fmt.Errorf("the member %q is another one but for case and marks", clip(m.name))
		default:
			dropped = append(dropped, clip(m.name))
		}
	}
	*f = kept
	return dropped, nil
}

// get is a member's value, nil where it is not there.
func (f fields) get(name string) jsontext.Value {
	for _, m := range f {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// set replaces or adds a member.
func (f *fields) set(name, text string) {
	for i, m := range *f {
		if m.name == name {
			(*f)[i].value = jsontext.Value(text)
			return
		}
	}
	*f = append(*f, member{name, jsontext.Value(text)})
}

// into decodes a member if it is there.
func (f fields) into(name string, v any) error {
	raw := f.get(name)
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// parts is the object as text again, in slices of its source.
func (f fields) parts() [][]byte {
	list := [][]byte{[]byte("{")}
	for i, m := range f {
		name, _ := jsontext.AppendQuote(nil, m.name) // parsed before: cannot fail
		if i > 0 {
			list = append(list, []byte(","))
		}
		list = append(list, append(name, ':'), m.value)
	}
	return append(list, []byte("}"))
}
