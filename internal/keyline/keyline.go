// Package keyline distinguishes Ward's lines in a repository's authorized_keys(5) from those
// of people.
package keyline

import "strings"

// File is the file's name in ward/.
const File = "authorized_keys"

// Empty is the line of a file that has no key.
const Empty = "# git ward launch writes here a key for each worker on another machine"

// Begin begins a line of the launcher's, and mark its comment. A person may call a key of his ward:laptop.
const (
	Begin = `restrict,expiry-time="`
	mark  = "ward:"
)

// Comment is the end of a line with that name.
func Comment(name string) string { return mark + name }

// Name is the name of a launcher's line, "" for any other line.
func Name(line string) string {
	name, _ := strings.CutPrefix(line[strings.LastIndexByte(line, ' ')+1:], mark)
	if !strings.HasPrefix(line, Begin) || !strings.HasSuffix(line, " "+mark+name) {
		return ""
	}
	return name
}

// Theirs are the lines of people.
func Theirs(data []byte) (lines []string) {
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line != Empty && Name(line) == "" {
			lines = append(lines, line)
		}
	}
	return lines
}
