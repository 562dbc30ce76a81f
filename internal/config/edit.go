package config

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// place is where a settings file says a key: bytes of its text.
type place struct {
	section  int // where the section's header line ends; -1 where there is no such section
	last     int // behind the section's last key, or its header where it has none
	begin    int // of the key's own comment, in whole lines
	from, to int // the value; -1 where the key is not there
}

// find looks a key up in the text of a settings file as people write one: `[section]` on a
// line of its own, `name = value` on lines of their own.
func find(text, key string) place {
	section, name, _ := strings.Cut(key, ".")
	p := place{section: -1, from: -1}
	inside, comment := false, -1
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		line := strings.TrimSpace(text[at:end])
		switch {
		case strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "[["):
			header, _, _ := strings.Cut(line, "#")
			if inside = strings.TrimSpace(header) == "["+section+"]"; inside {
				p.section, p.last = end, end
			}
			comment = -1
		case strings.HasPrefix(line, "[["):
			inside = false
		case strings.HasPrefix(line, "#"):
			if comment < 0 {
				comment = at
			}
		case line == "":
			comment = -1
		default:
			word, _, isKey := strings.Cut(line, "=")
			from := at + strings.IndexByte(text[at:end], '=') + 1
			to := from
			if isKey {
				for to < end && (text[to] == ' ' || text[to] == '\t') {
					to++
				}
				from, to = to, valueEnd(text, to)
				end = lineEnd(text, to)
			}
			if inside {
				p.last = end
				if isKey && strings.Trim(strings.TrimSpace(word), `"'`) == name {
					p.from, p.to, p.begin = from, to, at
					if comment >= 0 {
						p.begin = comment
					}
				}
			}
			comment = -1
		}
		at = end
	}
	return p
}

// lineEnd is the place after the line.
func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// valueEnd is the place after a value: an array or a string in three quotes may span lines,
// and brackets and # within a string do not count.
func valueEnd(text string, at int) int {
	depth, quote, end := 0, byte(0), at
	for i := at; i < len(text); i++ {
		switch c := text[i]; {
		case quote == 0 && stringEnd(text, i) > i:
			i = stringEnd(text, i) - 1
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote || c == '\n' {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == '#':
			if depth <= 0 {
				return end
			}
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
			continue
		case c == '\n' && depth <= 0:
			return end
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		}
		end = min(i+1, len(text))
	}
	return end
}

// stringEnd is behind the string in three quotes that begins at a place, the text's end where
// it has none, and the place itself where there is no such string.
func stringEnd(text string, at int) int {
	quotes := text[at:min(at+3, len(text))]
	if quotes != `"""` && quotes != `'''` {
		return at
	}
	for i := at + 3; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quotes == `"""`:
			i++
		case strings.HasPrefix(text[i:], quotes):
			end := i + 3
			for end < len(text) && end < i+5 && text[end] == quotes[0] { // up to two may stand before the three
				end++
			}
			return end
		}
	}
	return len(text)
}

// Literal is the value of a setting as TOML, as Shipped has it.
func Literal(key string) string {
	p := find(Shipped, key)
	if p.from < 0 {
		return ""
	}
	return Shipped[p.from:p.to]
}

// Set gives a setting a value, TOML, in the text of a settings file, and leaves everything
// else in it as it stands. A setting that the file does not have comes with its section
// and with the comment that Shipped has for it.
func Set(data []byte, key, literal string) ([]byte, error) {
	text, p := string(data), find(string(data), key)
	section, name, _ := strings.Cut(key, ".")
	line := name + " = " + literal + "\n"
	if s := find(Shipped, key); s.from >= 0 {
		line = Shipped[s.begin:s.from] + literal + "\n"
	}
	switch {
	case p.from >= 0:
		text = text[:p.from] + literal + text[p.to:]
	case p.section >= 0:
		text = ended(text[:p.last]) + line + text[p.last:]
	default:
		text = ended(text)
		if text != "" {
			text += "\n"
		}
		text += "[" + section + "]\n" + line
	}
	if _, err := new(Config).decode(text, Path); err != nil {
		return nil, fmt.Errorf("%s is not set: %w", key, err)
	}
	return []byte(text), nil
}

// IsValue reports whether a text is a value, TOML.
func IsValue(text string) bool {
	var v struct{ X any }
	_, err := toml.Decode("x = "+text, &v)
	return err == nil
}

// ended is a text whose last line has its end.
func ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
