package gateway

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A check admits a JSON value or says what is wrong with it; nil admits all. The
// checks below combine into tables that list what a protocol may carry. Lists
// name what is admitted, never what is not: a field or a tool that a provider
// invents tomorrow is refused until somebody has looked at it.
type check func(v jsontext.Value) error

// fields are the members of an object. Decoding into them refuses an object
// that has a member twice, at any depth, so that the provider cannot read
// another value than the one that was checked here.
type fields map[string]jsontext.Value

func (c check) run(v jsontext.Value, at string) error {
	if c == nil {
		return nil
	}
	if err := c(v); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

func decodeFields(v jsontext.Value) (fields, error) {
	var f fields
	if err := json.Unmarshal(v, &f); err != nil {
		return nil, fmt.Errorf("not a JSON object with each member once: %w", err)
	}
	if f == nil {
		return nil, errors.New("null is not an object")
	}
	return f, nil
}

// closed admits an object with no other members than those named.
func closed(members map[string]check) check {
	return func(v jsontext.Value) error {
		f, err := decodeFields(v)
		if err != nil {
			return err
		}
		return f.only(members)
	}
}

func (f fields) only(members map[string]check) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		c, ok := members[name]
		if !ok {
			return fmt.Errorf("the gateway does not admit the member %q here", clip(name))
		}
		if err := c.run(f[name], name); err != nil {
			return err
		}
	}
	return nil
}

// open admits an object whose named members, where they are there, pass.
func open(members map[string]check) check {
	return func(v jsontext.Value) error {
		f, err := decodeFields(v)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if value, ok := f[name]; ok {
				if err := members[name].run(value, name); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// free is members with names that may have any value.
func free(names ...string) map[string]check {
	m := make(map[string]check, len(names))
	for _, name := range names {
		m[name] = nil
	}
	return m
}

// with is checked members and free ones.
func with(members map[string]check, names ...string) map[string]check {
	return merge(members, free(names...))
}

// merge is the members of both.
func merge(a, b map[string]check) map[string]check {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// each admits null and an array whose elements pass.
func each(c check) check {
	return func(v jsontext.Value) error {
		var list []jsontext.Value
		if err := json.Unmarshal(v, &list); err != nil {
			return fmt.Errorf("not an array: %w", err)
		}
		for i, element := range list {
			if err := c.run(element, fmt.Sprintf("[%d]", i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// textOr admits null, a string, and what passes.
func textOr(c check) check {
	return func(v jsontext.Value) error {
		if k := v.Kind(); k == 'n' || k == '"' {
			return nil
		}
		return c(v)
	}
}

// only admits values that are written like one of these.
func only(texts ...string) check {
	return func(v jsontext.Value) error {
		if slices.Contains(texts, string(v)) {
			return nil
		}
		return fmt.Errorf("the gateway admits %s only", strings.Join(texts, ", "))
	}
}

// dated is the version at the end of a tool's type.
var dated = regexp.MustCompile(`_\d{8}$`)

// byType admits an object whose "type" is in the table and that passes there. An
// object without a type is taken for one of type missing; a type that ends in a
// date is looked up with _DATE instead.
func byType(missing string, types map[string]check) check {
	return func(v jsontext.Value) error {
		f, err := decodeFields(v)
		if err != nil {
			return err
		}
		name := missing
		if t, ok := f["type"]; ok {
			if err := json.Unmarshal(t, &name); err != nil || t.Kind() != '"' {
				return errors.New("type: not a string")
			}
		}
		c, ok := types[dated.ReplaceAllString(name, "_DATE")]
		if !ok {
			return fmt.Errorf("the gateway does not admit the type %q here: what makes the provider fetch, run or remember is a way around the fence", clip(name))
		}
		return c.run(v, name)
	}
}

// dataURL admits data: URLs, and null. Any other makes the provider fetch.
func dataURL(v jsontext.Value) error {
	var text *string
	if err := json.Unmarshal(v, &text); err != nil {
		return fmt.Errorf("not a string: %w", err)
	}
	if text != nil && !strings.HasPrefix(*text, "data:") {
		return errors.New("the gateway admits data: URLs only, because the provider would fetch any other")
	}
	return nil
}

// modelName is what a model may be called: also what ends in a log line and is
// looked up in the price table.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$`)

// model admits names of models. Those with "search" in them (gpt-4o-search-preview,
// o3-deep-research) search the web without any tool in the request.
func model(v jsontext.Value) error {
	var name string
	if err := json.Unmarshal(v, &name); err != nil || !modelName.MatchString(name) {
		return errors.New("not a model's name")
	}
	if strings.Contains(strings.ToLower(name), "search") {
		return fmt.Errorf("%q searches the web at the provider, which is a way around the fence", name)
	}
	return nil
}
