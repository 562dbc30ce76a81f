package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/pattern"
)

// A check accepts a JSON value or says what is wrong with it; nil accepts everything. The
// checks below combine into tables of what a protocol may carry. Tools and sources in no table
// are refused. An unknown part or member is accepted if it only carries text (unknown). A
// check records in seen what costs more than its text.
type check func(v jsontext.Value, s *seen) error

func (c check) run(v jsontext.Value, s *seen, at string) error {
	if c == nil {
		return nil
	}
	if err := c(v, s); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// closed accepts an object that has only the named members.
func closed(members map[string]check) check {
	return func(v jsontext.Value, s *seen) error {
		f, err := decodeFields(v)
		if err != nil {
			return err
		}
		return f.only(members, s)
	}
}

func (f fields) only(members map[string]check, s *seen) error {
	for _, m := range f {
		c, ok := members[m.name]
		if !ok {
			return fmt.Errorf("the gateway does not admit the member %q here", clip(m.name))
		}
		if err := c.run(m.value, s, m.name); err != nil {
			return err
		}
	}
	return nil
}

// open accepts an object whose named members pass and whose other members carry text.
func open(members map[string]check) check {
	return func(v jsontext.Value, s *seen) error {
		f, err := decodeFields(v)
		if err != nil {
			return err
		}
		return f.open(members, s)
	}
}

func (f fields) open(members map[string]check, s *seen) error {
	for _, m := range f {
		c, known := members[m.name]
		if !known && disguised(m.name, members) {
			return fmt.Errorf("the member %q is another one but for case and marks", clip(m.name))
		}
		if !known {
			c = func(v jsontext.Value, s *seen) error { return unknown(m.name, v, s) }
		}
		if err := c.run(m.value, s, clip(m.name)); err != nil {
			return err
		}
	}
	return nil
}

// words accepts an object whose named members are free text.
func words(names ...string) check { return open(free(names...)) }

// free is members with names that may have any value.
func free(names ...string) map[string]check {
	m := make(map[string]check, len(names))
	for _, name := range names {
		m[name] = nil
	}
	return m
}

// with is checked and free members together.
func with(members map[string]check, names ...string) map[string]check {
	return merge(members, free(names...))
}

// merge is the members of both.
func merge(a, b map[string]check) map[string]check {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// each accepts null and an array whose elements pass.
func each(c check) check {
	return func(v jsontext.Value, s *seen) error {
		if v.Kind() == 'n' {
			return nil
		}
		return elements(v, func(i int, element jsontext.Value) error {
			return c.run(element, s, fmt.Sprintf("[%d]", i))
		})
	}
}

// refused accepts nothing.
func refused(jsontext.Value, *seen) error {
	return errors.New("the gateway does not admit this member: it makes the provider act, or costs more than the price table says")
}

// textOr accepts null, a string, and what passes.
func textOr(c check) check {
	return func(v jsontext.Value, s *seen) error {
		if k := v.Kind(); k == 'n' || k == '"' {
			return nil
		}
		return c(v, s)
	}
}

// only accepts values spelled like one of these.
func only(texts ...string) check {
	return func(v jsontext.Value, _ *seen) error {
		if slices.Contains(texts, string(v)) {
			return nil
		}
		return fmt.Errorf("the gateway admits %s only", strings.Join(texts, ", "))
	}
}

// dated is the version suffix of a tool's type.
var dated = pattern.New(`_\d{8}$`)

// byType accepts an object whose "type" is in the table and whose check passes. An object
// without a type has type missing; a type that ends in a date is looked up with _DATE instead.
func byType(missing string, types map[string]check) check {
	return typed(missing, types, func(_ fields, name string, _ *seen) error {
		return fmt.Errorf("the gateway does not admit the type %q here: what makes the provider fetch, run or remember is a way around the fence", clip(name))
	})
}

// partOf is byType for text parts: an unknown type is checked for being text.
func partOf(missing string, types map[string]check) check {
	return typed(missing, types, unknownPart)
}

func typed(missing string, types map[string]check, other func(f fields, name string, s *seen) error) check {
	return func(v jsontext.Value, s *seen) error {
		f, err := decodeFields(v)
		if err != nil {
			return err
		}
		name := missing
		if t := f.get("type"); t != nil {
			if name, err = shortText(t); err != nil {
				return fmt.Errorf("type: %w", err)
			}
		}
		if err := check(cacheControl).run(orNull(f.get("cache_control")), s, "cache_control"); err != nil {
			return err
		}
		c, ok := types[dated.ReplaceAllString(name, "_DATE")]
		if !ok {
			return other(f, name, s)
		}
		return c.run(v, s, name)
	}
}

// shortText is a string that is no longer than names are.
func shortText(v jsontext.Value) (text string, err error) {
	if v.Kind() != '"' || len(v) > maxName || json.Unmarshal(v, &text) != nil {
		return "", errors.New("not a string, or a long one")
	}
	return text, nil
}

func orNull(v jsontext.Value) jsontext.Value {
	if v == nil {
		return jsontext.Value("null")
	}
	return v
}
