package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// Public is the form of the settings that the audit keeps: every effective value, without
// comments. Hashes replace host paths, URLs, names of key files, and texts whose declaration
// does not publish them (Shown): a change shows, the value does not.
type Public struct {
	Text   []byte // TOML that Parse reads
	SHA256 string // of Text, hex
}

// Public returns the settings in the form that the audit keeps.
func (c *Config) Public() Public {
	copied := *c
	for _, f := range copied.fields() {
		undeclared := f.tag.Get("shown") == ""
		hide(f.value, func(text string) bool { return text != "" && undeclared || hosts(f.tag.Get("toml"), text) })
	}
	var b bytes.Buffer
	encoder := toml.NewEncoder(&b)
	encoder.Indent = ""
	if err := encoder.Encode(copied); err != nil {
		panic("settings that were read from TOML cannot be written as TOML: " + err.Error())
	}
	sum := sha256.Sum256(b.Bytes())
	return Public{b.Bytes(), hex.EncodeToString(sum[:])}
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// hidden begins what stands in the place of a text that is the host's own.
const hidden = "sha256:"

// hide replaces the texts of a setting that are the host's own. Lists are copied: the
// settings themselves keep theirs.
func hide(v reflect.Value, own func(string) bool) {
	switch v.Kind() {
	case reflect.Slice:
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		for i := range copied.Len() {
			hide(copied.Index(i), own)
		}
		v.Set(copied)
	case reflect.String:
		if own(v.String()) {
			v.SetString(hash(v.String()))
		}
	}
}

// hash is what stands in the place of a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hidden + hex.EncodeToString(sum[:])
}

// hosts reports whether a setting's text is the host's own: a path of its file
// system, a URL, or the name of a file with a key. Paths inside repositories begin
// with neither a slash nor a tilde.
func hosts(key, value string) bool {
	if value == "" {
		return false
	}
	if strings.HasSuffix(key, "_file") || strings.HasSuffix(key, "_url") || key == "url" || key == "programs" || strings.HasSuffix(key, "image") || strings.Contains(value, "://") {
		return true
	}
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == '=' || r == ':' || r == ',' }) {
		if strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~") {
			return true
		}
	}
	return false
}
