package config

import (
	"reflect"
	"strings"
	"testing"
)

// TestInitial: the file that init writes is short, says what is so anyway, and is Shipped's
// wording.
func TestInitial(t *testing.T) {
	text := Initial()
	c := new(Config)
	meta, err := c.decode(text, "config.toml")
	if err != nil {
		t.Fatal(err)
	}
	settings := 0
	for key := range defined(meta) {
		if strings.Contains(key, ".") {
			settings++
		}
	}
	if settings < 20 || settings > 30 {
		t.Errorf("%d settings:\n%s", settings, text)
	}
	if got, err := Parse([]byte(text), "config.toml"); err != nil || !reflect.DeepEqual(got, Default()) {
		t.Errorf("%v: it says other than the defaults", err)
	}
	for line := range strings.Lines(text) {
		if _, below, _ := strings.Cut(text, "\n\n"); strings.Contains(below, line) && !strings.Contains(Shipped, line) {
			t.Errorf("Shipped has no line %q", line)
		}
	}
}
