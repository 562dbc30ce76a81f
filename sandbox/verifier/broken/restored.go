package broken

import (
	"path"
	"strings"

	"git-ward/internal/pattern"
)

// topValue matches an assignment that begins in the first column, in languages like C, Go, JavaScript
// or Python.
var topValue = pattern.New(`(?m)^(?:[A-Za-z_][\w.*]*[ \t]+)*(?:\w+\.)*([A-Za-z_]\w*)(?:\[[^\]\n]*\])*(?:[ \t]*:[^=\n]*|[ \t]+[\w.*\[\]]+)?[ \t]*=[ \t]*`)

// aCall matches a call. Nobody knows what it returns.
var aCall = pattern.New(`\w[ \t]*\(`)

// values finds where a text assigns literals to names.
func values(name, text string) map[string]edit {
	found, comment := map[string]edit{}, byte('/')
	if path.Ext(name) == ".py" {
		comment = '#'
	}
	for _, m := range topValue.Regexp().FindAllStringSubmatchIndex(text, -1) {
		at, depth := m[1], 0
		for at < len(text) && (depth > 0 || text[at] != '\n' && text[at] != ';') {
			if next := skipText(text, at, comment); next > at {
				at = next
				continue
			}
			if strings.IndexByte("([{", text[at]) >= 0 {
				depth++
			} else if strings.IndexByte(")]}", text[at]) >= 0 {
				depth--
			}
			at++
		}
		value, p := text[m[1]:at], acts[path.Ext(name)]
		if aValue.MatchString(value) && value[0] != '=' && !aCall.MatchString(value) && (p == nil || !p.MatchString(value)) {
			found[text[m[2]:m[3]]] = edit{m[1], at, value}
		}
	}
	return found
}

// Restored puts earlier values back into a text, for the names that asked accepts. ok is false if none
// of them differs.
func Restored(name, now, before string, asked func(name string) bool) (text string, ok bool) {
	var edits []edit
	was, is := values(name, before), values(name, now)
	for _, m := range topValue.FindAllStringSubmatch(now, -1) { // in the text's order
		v, has := is[m[1]]
		if old, had := was[m[1]]; has && had && old.text != v.text && asked(m[1]) && (len(edits) == 0 || edits[len(edits)-1].to <= v.from) {
			edits = append(edits, edit{v.from, v.to, old.text})
		}
	}
	return edited(now, edits), len(edits) > 0
}
