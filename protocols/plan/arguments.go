package plan

import (
	"fmt"
	"path"
	"regexp/syntax"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// maxPattern bounds a regular expression: reading one costs more than its length.
const maxPattern = 4 << 10

// finishAll checks each step by itself. Depth is how many loops are around.
func (p *parser) finishAll(steps []Step, depth int) {
	for i := range steps {
		s := &steps[i]
		tool := byName[s.Tool]
		if tool == nil {
			continue
		}
		p.block(s, tool)
		p.arguments(s, tool)
		p.placeholders(s, depth)
		if s.Tool != ForEachFile {
			continue
		}
		if len(s.Body) == 0 {
			p.report(s.Line, s.Col, RuleLoop, "the loop has no body", "write the steps of its body below it, indented by two spaces")
		}
		if depth == MaxLoopDepth {
			p.report(s.Line, s.Col, RuleLoop, fmt.Sprintf("more than %d loops inside each other", MaxLoopDepth), "move the inner ones into a plan of their own (call_plan)")
		}
		p.finishAll(s.Body, depth+1)
	}
}

// block checks that a block is there where one belongs, and nowhere else.
func (p *parser) block(s *Step, tool *Tool) {
	switch {
	case s.Block == "" && tool.required:
		p.report(s.Line, s.Col, RuleBlock, s.Tool+" needs a block", "use block form: write the block below the step, and a line --- after it")
	case s.Block != "" && !tool.block:
		if strings.TrimSpace(s.Block) != "" {
			p.report(s.Line+1, 1, RuleBlock, s.Tool+" takes no block", "write a line --- before the next step")
		}
		s.Block = "" // blank lines, which are nothing
	case s.Block != "" && s.Tool == Bash && s.Args != "":
		p.report(s.Line, s.Col, RuleBlock, "a command both on the line and in the block", "write all of it in one of them; <<WORD at the line's end belongs to the plan, not to the shell")
	}
}

// arguments checks that the arguments are what the tool takes.
func (p *parser) arguments(s *Step, tool *Tool) {
	fault := func(rule, message, hint string) {
		col := s.argsAt
		if s.Args == "" {
			col = s.Col
		}
		p.report(s.Line, col, rule, message, hint)
	}
	usage := "write " + tool.Usage
	switch {
	case tool.args == anyText:
		return
	case tool.args == message:
		if strings.TrimSpace(s.Text()) == "" {
			fault(RuleArgument, s.Tool+" says nothing", usage)
		}
		if s.Tool == Bash && closesBadly(s) {
			fault(RuleArgument, "the closing command is not recognized", "write it alone in its step: run_in_bash_session git ward task close --task-id ID")
		}
		return
	case s.Args == "" && tool.args != aFolder:
		fault(RuleArgument, s.Tool+" lacks its argument", usage)
		return
	}
	switch tool.args {
	case onePath, aFolder, aGlob, aCallee:
		s.Args = plainArgument(s.Args)
	}
	switch tool.args {
	case onePath, aFolder:
		if _, word, ok := strings.Cut(s.Args, "<<"); ok && tool.block && !heredocWord(word) {
			fault(RuleHeredoc, fmt.Sprintf("<<%s is not a heredoc", cut(word)), "write <<WORD at the end of the line, without quotes: the block is taken as it is anyway")
			return
		}
		p.inside(fault, s.Args)
	case twoPaths:
		old, name := s.RenameArgs()
		if name == "" {
			fault(RuleArgument, fmt.Sprintf("%s has %s where the old and the new path belong", s.Tool, diag.Count(len(strings.Fields(s.Args)), "word")), usage+"; a path with blanks stands in quotes: rename_file 'old name.md' new.md")
			return
		}
		p.inside(fault, old)
		p.inside(fault, name)
		if old == name {
			fault(RuleArgument, "the old and the new path are the same", usage)
		}
		s.Args = quoted(old) + " " + quoted(name)
	case aPattern:
		pattern, in := s.GrepArgs()
		if len(pattern) > maxPattern {
			fault(RuleArgument, fmt.Sprintf("the pattern has %d bytes, more than %d", len(pattern), maxPattern), "search for less at once")
		} else if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
			fault(RuleArgument, fmt.Sprintf("not a regular expression: %v", err), "the syntax is that of Go's regexp (RE2)")
		}
		p.inside(fault, in)
	case aGlob:
		p.inside(fault, s.Args)
		if _, err := path.Match(s.Args, ""); err != nil {
			fault(RuleArgument, "not a pattern: "+cut(s.Args), "use *, ?, [a-z], and ** for folders at any depth")
		}
	case aWord:
		if s.Tool == ViewTextWebsite && !strings.HasPrefix(s.Args, "https://") && !strings.HasPrefix(s.Args, "http://") && !strings.HasPrefix(s.Args, "{file") && !strings.HasPrefix(s.Args, FieldFound) {
			fault(RuleArgument, fmt.Sprintf("%q is not a URL", cut(s.Args)), "begin with https://")
		}
	case aCallee:
		if strings.ContainsAny(s.Args, " \t") && !strings.ContainsAny(s.Args, "/.") { // a path may have blanks
			fault(RuleArgument, "call_plan takes one name", usage)
		} else if strings.Contains(s.Args, "{file") {
			fault(RulePlaceholder, "which plan is called must stand in the plan", "a call has to be known before it runs")
		} else if !IsName(s.Args) {
			p.inside(fault, s.Args)
		}
	}
}

// closesBadly reports a command that is meant to close the task, and does something else
// besides.
func closesBadly(s *Step) bool {
	text := s.Text()
	return (strings.Contains(text, "ward task close") || strings.Contains(text, sourceTool+" close")) && s.Closes() == ""
}

// inside reports a path that does not stay in the tree.
func (p *parser) inside(fault func(rule, message, hint string), name string) {
	if name == "" {
		return
	}
	if bad := BadPath(name); bad != "" {
		fault(RulePath, fmt.Sprintf("the path %q %s", cut(name), bad), "write it relative to the top of the tree, such as docs/notes.md")
	}
}

// BadPath says why a path is not the canonical name of something inside the tree, or "".
func BadPath(p string) string {
	switch {
	case p == "":
		return "is empty"
	case strings.HasPrefix(p, "/"):
		return "is absolute"
	case p == ".." || strings.HasPrefix(p, "../") || strings.Contains(p, "/../") || strings.HasSuffix(p, "/.."):
		return "leads out of the tree"
	case p == ".":
		return ""
	case path.Clean(p) != p || strings.ContainsAny(p, "\\\x00\n"):
		return "is not in its plain form"
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") {
			return "is inside .git"
		}
	}
	return ""
}

// GrepArgs splits the arguments of grep: a regular expression, and the path that
// is searched, "" for all. One pair of quotes around the whole pattern does not count.
func (s *Step) GrepArgs() (pattern, in string) {
	pattern = s.Args
	if at := strings.LastIndex(s.Args, " -- "); at >= 0 {
		pattern, in = strings.TrimRight(s.Args[:at], " \t"), plainArgument(strings.TrimLeft(s.Args[at+4:], " \t"))
	}
	if isQuoted(pattern) && strings.Count(pattern, pattern[:1]) == 2 {
		pattern = pattern[1 : len(pattern)-1]
	}
	return pattern, in
}

// placeholders reports those of loops that are not around the step.
func (p *parser) placeholders(s *Step, depth int) {
	for rest, at := s.Args, 0; ; {
		i, n, width := nextPlaceholder(rest)
		if i < 0 {
			return
		}
		if n < 1 || n > depth {
			what := fmt.Sprintf("there are %d loops around this step", depth)
			if depth == 0 {
				what = "there is no loop around this step"
			}
			p.report(s.Line, s.argsAt+at+i, RulePlaceholder, fmt.Sprintf("%s: %s", rest[i:i+width], what), "{file1} is the file of the outermost for_each_file, {file2} of the one in it")
		}
		at += i + width
		rest = rest[i+width:]
	}
}

// nextPlaceholder finds {fileN} in text: where, N, and how long; -1 for none.
func nextPlaceholder(text string) (at, n, width int) {
	const open = "{file"
	for from := 0; ; {
		i := strings.Index(text[from:], open)
		if i < 0 {
			return -1, 0, 0
		}
		i += from
		digits := i + len(open)
		end := digits
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if end > digits && end < len(text) && text[end] == '}' {
			n, err := strconv.Atoi(text[digits:end])
			if err != nil {
				n = -1
			}
			return i, n, end + 1 - i
		}
		from = digits
	}
}

// Fill replaces {file1}, {file2} and so on with the files of the surrounding loops.
func Fill(text string, files []string) string {
	var b strings.Builder
	for {
		i, n, width := nextPlaceholder(text)
		if i < 0 {
			return b.String() + text
		}
		b.WriteString(text[:i])
		if n >= 1 && n <= len(files) {
			b.WriteString(files[n-1])
		} else {
			b.WriteString(text[i : i+width])
		}
		text = text[i+width:]
	}
}

// MatchFile reports whether a path is one that a glob of for_each_file names: *
// and the like stay within a name, a name ** stands for any number of directories.
func MatchFile(glob, name string) bool {
	return matchParts(strings.Split(glob, "/"), strings.Split(name, "/"))
}

func matchParts(glob, name []string) bool {
	// One ** is tried at a time, the last one seen: linear but for the names, as in
	// the usual matching of *.
	g, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == "**":
			star, mark = g, n
			g++
		case g < len(glob) && matchName(glob[g], name[n]):
			g++
			n++
		case star >= 0:
			mark++
			g, n = star+1, mark
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == "**" {
		g++
	}
	return g == len(glob)
}

func matchName(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

// nearHint is a hint that names the nearest of the candidates, or says otherwise.
func nearHint(word string, candidates []string, otherwise string) string {
	if near := diag.Nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}
