package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// wrongKind says which setting of a text is of another kind than it has to be, and shows
// what is shipped in its place; nil when none is. It is asked when the text could not be
// decoded, and reads it again without kinds.
func (c *Config) wrongKind(text string) error {
	var values map[string]any
	meta, err := toml.Decode(text, &values)
	if err != nil {
		return nil
	}
	settings := c.settings()
	for _, key := range meta.Keys() {
		if len(key) != 2 {
			continue
		}
		section, _ := values[key[0]].(map[string]any)
		v, known := settings[strings.ToLower(key.String())]
		if known && section != nil && !fits(section[key[1]], v) {
			return fmt.Errorf("%s is %s, and wants %s, as in `%s`", key, kindOf(section[key[1]]), wants(v), shippedLine(key[0], key[1]))
		}
	}
	return nil
}

// fits reports whether a value of TOML decodes into a setting.
func fits(value any, v reflect.Value) bool {
	switch value := value.(type) {
	case string:
		d, isTime := v.Interface().(Duration)
		return v.Kind() == reflect.String || isTime && d.UnmarshalText([]byte(value)) == nil
	case int64:
		return v.CanInt() && !v.OverflowInt(value) || v.CanFloat()
	case float64:
		return v.CanFloat()
	case bool:
		return v.Kind() == reflect.Bool
	case []any:
		text := reflect.ValueOf("")
		for _, e := range value {
			if !fits(e, text) {
				return false
			}
		}
		return v.Kind() == reflect.Slice
	}
	return v.Kind() == reflect.Map
}

// kindOf is a value's kind, for people.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a text"
	case int64, float64:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	}
	return "something else"
}

// wants is the kind that a setting has to be of.
func wants(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return "a text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list of texts"
	case reflect.Map:
		return "a table"
	case reflect.Struct:
		return "a time in quotes"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// shippedLine is the line of Shipped with a setting, "key = ..." where it has several.
func shippedLine(section, name string) string {
	for line := range strings.Lines(shippedSections(map[string]bool{strings.ToLower(section): true})) {
		line = strings.TrimSpace(line)
		if key, _, ok := strings.Cut(line, " = "); ok && key == strings.ToLower(name) {
			if strings.HasSuffix(line, "[") {
				return line + "...]"
			}
			return line
		}
	}
	return strings.ToLower(name) + " = ..."
}
