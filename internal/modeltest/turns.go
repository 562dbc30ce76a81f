package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// line is a line of the script model's (agent/model).
type line struct {
	Directive string `json:"directive,omitempty"`
	On        string `json:"on,omitempty"`
	Iteration *int   `json:"iteration,omitempty"`
	Role      string `json:"role,omitempty"`
	Text      string `json:"text,omitempty"`
	Calls     []call `json:"calls,omitempty"`
}

type call struct {
	Name string            `json:"name"`
	Args map[string]string `json:"args"`
}

// argument is the one argument by which a tool is called in Turns; write_file has its
// content besides.
var argument = map[string]string{"bash": "command", "read_file": "path", "write_file": "path", "bootstrap": "branch", "rollback": "ref"}

// Turns makes JSON lines for the script model of turns that a person can read:
//
//	turn directive=D-1 on=plan iteration=2 role=Skeptic
//	write_file notes.md
//	| # Notes
//	| two lines
//	bash git add -A; git commit -qm notes
//	bootstrap agent/D-1
//	say That is all.
//
// Each `turn`, with any of its four words, begins a line of the script. What follows
// are calls of tools, each with its argument, and `say` for the turn's text. Lines
// behind write_file that begin with `|` and a space are the file's content, each
// ended by a newline; `\ ` in place of `| ` joins a line without one. Blank lines,
// and lines that begin with #, are skipped.
func Turns(text string) (string, error) {
	var lines []*line
	for i, s := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(s, " ")
		if s == "" || word == "#" {
			continue
		}
		if len(lines) == 0 && word != "turn" {
			return "", fmt.Errorf("line %d: a turn begins by `turn`, not by %q", i+1, s)
		}
		var err error
		if word == "turn" {
			lines = append(lines, &line{})
			err = lines[len(lines)-1].keep(strings.Fields(rest))
		} else {
			err = lines[len(lines)-1].add(word, rest)
		}
		if err != nil {
			return "", fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

// keep takes the words that say when the line is played.
func (l *line) keep(words []string) error {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "directive":
			l.Directive = value
		case "on":
			l.On = value
		case "role":
			l.Role = value
		case "iteration":
			n := 0
			if _, err := fmt.Sscan(value, &n); err != nil {
				return fmt.Errorf("%q: %w", w, err)
			}
			l.Iteration = &n
		default:
			return fmt.Errorf("a turn has no %q", w)
		}
	}
	return nil
}

// add takes one thing that the turn does.
func (l *line) add(word, rest string) error {
	switch {
	case word == "say":
		l.Text = rest
	case word == "|" || word == `\`:
		if n := len(l.Calls); n == 0 || l.Calls[n-1].Name != "write_file" {
			return fmt.Errorf("%q belongs to no write_file", rest)
		}
		if word == "|" {
			rest += "\n"
		}
		l.Calls[len(l.Calls)-1].Args["content"] += rest
	case argument[word] == "":
		return fmt.Errorf("%q is no tool, and not say", word)
	default:
		args := map[string]string{argument[word]: rest}
		if word == "write_file" {
			args["content"] = ""
		}
		l.Calls = append(l.Calls, call{word, args})
	}
	return nil
}
