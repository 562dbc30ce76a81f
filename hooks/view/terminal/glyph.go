package terminal

import "strings"

// glyphs are the characters that Ward draws with.
type glyphs struct {
	rule, more, mark, dot string
	bars                  []string // from nothing to full
}

var (
	drawn   = glyphs{"─", "…", "▸", "·", []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}}
	letters = glyphs{"-", "...", ">", "-", []string{"_", ".", "-", "=", "+", "*", "#", "@"}}
)

// glyphsFor are those that a terminal can show, by its locale (locale(7)).
func glyphsFor(getenv func(string) string) glyphs {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := getenv(name); value != "" {
			value = strings.ToLower(value)
			if strings.Contains(value, "utf-8") || strings.Contains(value, "utf8") {
				return drawn
			}
			return letters
		}
	}
	return letters
}
