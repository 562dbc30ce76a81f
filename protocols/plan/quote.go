package plan

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellWords are the words that a shell makes of a text which is one simple command of
// plain words and quotes; ok is false where a shell would do more than to take quotes off.
func shellWords(text string) (words []string, ok bool) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil || len(file.Stmts) != 1 {
		return nil, false
	}
	stmt := file.Stmts[0]
	call, plain := stmt.Cmd.(*syntax.CallExpr)
	if !plain || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 || stmt.Background || stmt.Negated || stmt.Coprocess {
		return nil, false
	}
	for _, word := range call.Args {
		text, ok := unquoted(word.Parts)
		if !ok {
			return nil, false
		}
		words = append(words, text)
	}
	return words, true
}

// unquoted is a word without its quotes, where nothing in it is expanded.
func unquoted(parts []syntax.WordPart) (string, bool) {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(part.Value, "*?[~") {
				return "", false
			}
			b.WriteString(unescaped(part.Value, func(byte) bool { return true }))
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok || part.Dollar {
					return "", false
				}
				b.WriteString(unescaped(lit.Value, func(c byte) bool { return strings.IndexByte("\"\\$`\n", c) >= 0 }))
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescaped takes the backslashes off that a shell takes off, before the bytes for which
// that is so.
func unescaped(s string, off func(byte) bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && off(s[i+1]) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isQuoted reports whether a text begins and ends with one kind of quote.
func isQuoted(s string) bool {
	return len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]
}

// plainArgument takes the quotes off an argument that is one word in them. Where the word
// could not stand in a plan without them it is left as it is.
func plainArgument(s string) string {
	if !isQuoted(s) && !strings.Contains(s, `\`) {
		return s
	}
	words, ok := shellWords(s)
	if !ok || len(words) != 1 {
		return s
	}
	word := words[0]
	_, heredoc, _ := strings.Cut(word, "<<")
	if word == "" || word != strings.TrimSpace(word) || strings.ContainsAny(word, "\n\\") || isQuoted(word) || heredocWord(heredoc) {
		return s
	}
	return word
}

// lower takes arguments that stand below the tool, as the source's plans have them, to where
// they belong: its first line, of rename_file the first two.
func (s *Step) lower() {
	tool := byName[s.Tool]
	if tool == nil || s.Args != "" || tool.args == anyText || tool.args == message {
		return
	}
	lines := strings.SplitN(strings.TrimLeft(s.Block, "\r\n"), "\n", 3)
	first := strings.TrimSpace(lines[0])
	switch {
	case first == "" || heredocWord(first[strings.LastIndex(first, "<")+1:]) && strings.Contains(first, "<<"):
		return
	case tool.block:
		s.Args, s.Block = first, strings.Join(lines[1:], "\n")
	case tool.args == twoPaths && len(lines) > 1 && strings.TrimSpace(lines[1]) != "" && strings.TrimSpace(strings.Join(lines[2:], "")) == "":
		s.Args, s.Block = quoted(plainArgument(first))+" "+quoted(plainArgument(strings.TrimSpace(lines[1]))), ""
	case strings.TrimSpace(strings.Join(lines[1:], "")) == "":
		s.Args, s.Block = first, ""
	}
}

// RenameArgs splits the arguments of rename_file into the old and the new path. Paths
// with blanks stand in quotes, as in a shell. Both are "" where there are not two.
func (s *Step) RenameArgs() (old, name string) {
	words, ok := shellWords(s.Args)
	if !ok || len(words) != 2 {
		words = strings.Fields(s.Args)
	}
	if len(words) != 2 {
		return "", ""
	}
	return words[0], words[1]
}

// quoted is a path as it stands in the arguments of rename_file.
func quoted(path string) string {
	if words, ok := shellWords(path); ok && len(words) == 1 && words[0] == path {
		return path
	}
	if q, err := syntax.Quote(path, syntax.LangBash); err == nil {
		return q
	}
	return path
}

// closing is the task id of a command that closes a task and does nothing else, Ward's own
// or the source's; "" for another.
func closing(command string) string {
	words, ok := shellWords(command)
	if !ok {
		return ""
	}
	if len(words) > 0 && words[0] == "git-ward" {
		words = append([]string{"git", "ward"}, words[1:]...)
	}
	if len(words) > 1 && strings.HasPrefix(path.Base(words[0]), "python") {
		words = words[1:]
	}
	switch {
	case len(words) > 3 && strings.Join(words[:4], " ") == "git ward task close":
		words = words[4:]
	case len(words) > 1 && path.Base(words[0]) == sourceTool && words[1] == "close":
		words = words[2:]
	default:
		return ""
	}
	return taskID(words)
}

// sourceTool explains a command of the source's tool, where the tree does not have it: the
// step would fail.
func (t *tracker) sourceTool(s *Step) error {
	text := s.Text()
	if !t.inTree || t.opaque || !strings.Contains(text, sourceTool) || len(text) > maxClosing {
		return nil
	}
	words, _ := shellWords(text)
	at := slices.IndexFunc(words, func(w string) bool { return path.Base(w) == sourceTool })
	if at < 0 || BadPath(words[at]) != "" {
		return nil
	}
	if kind, err := t.linter.tree.Kind(words[at]); err != nil || kind != Missing {
		return err
	}
	t.report(s, RuleMissing, words[at]+" does not exist: it is a tool of the source's", "here a task begins before its plan by git ward task start --task-id ID, and plans are checked by git ward plan lint: take the step out")
	return nil
}

// taskID is the name in `--task-id NAME` or `--task-id=NAME`, "" for other words.
func taskID(words []string) string {
	option, id, joined := strings.Cut(strings.Join(words, "="), "=") // a name holds no =
	if !joined || option != "--task-id" && option != "-task-id" || !IsName(id) {
		return ""
	}
	return id
}

// sourceTool is the tool of seed 002 that its plans start, lint and close tasks with.
const sourceTool = "fdc_cli.py"
