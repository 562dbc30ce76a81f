package plan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// The rules of the grammar. Those of lint.go are about what a plan does.
const (
	RuleSize        = "plan/size"
	RuleUTF8        = "plan/utf8"
	RuleCRLF        = "plan/crlf"
	RuleControl     = "plan/control"
	RuleTool        = "plan/unknown-tool"
	RuleIndent      = "plan/indent"
	RuleHeader      = "plan/header"
	RuleHeredoc     = "plan/heredoc"
	RuleEmpty       = "plan/empty"
	RuleArgument    = "plan/argument"
	RuleBlock       = "plan/block"
	RulePlaceholder = "plan/placeholder"
	RuleLoop        = "plan/loop"
)

const separator = "---"

// Parse reads a plan and returns all findings in the order of their positions; the path is for
// them. A plan with errors holds what could be read.
func Parse(data []byte, path string) (*Plan, []diag.Diagnostic) {
	p := &parser{path: path, plan: &Plan{Form: LineForm}}
	if len(data) > MaxBytes {
		p.report(0, 0, RuleSize, fmt.Sprintf("the plan has %d bytes, more than %d", len(data), MaxBytes), "divide it into plans that call each other (call_plan)")
		return p.plan, p.found
	}
	p.bytes(data)
	if text := strings.TrimSuffix(windows(string(data)), "\n"); text != "" {
		p.lines = strings.Split(text, "\n")
	}
	for _, line := range p.lines {
		if strings.TrimSuffix(line, "\r") == separator {
			p.plan.Form = BlockForm
			break
		}
	}
	if p.plan.Form == BlockForm {
		p.blockForm()
	} else {
		p.body(0, len(p.lines), 0, &p.plan.Steps)
	}
	if p.steps > MaxSteps {
		p.report(0, 0, RuleSize, fmt.Sprintf("the plan has %d steps, more than %d", p.steps, MaxSteps), "divide it into plans that call each other (call_plan)")
		return &Plan{Form: p.plan.Form}, diag.Normalize(p.found) // not worth more work
	}
	p.finishAll(p.plan.Steps, 0)
	p.plan.Trailing = p.comments
	p.headers()
	if len(p.plan.Steps) == 0 && len(p.found) == 0 {
		p.report(1, 1, RuleEmpty, "the plan has no step", "begin with set_plan, or # FSM: sub for a plan that others call")
	}
	return p.plan, diag.Normalize(p.found)
}

// windows is a text whose lines all end in CR LF, as an editor or a checkout made them of LF, with
// LF. Where some do, somebody may have meant it.
func windows(text string) string {
	if n := strings.Count(text, "\n"); n > 0 && n == strings.Count(text, "\r\n") {
		return strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text
}

type parser struct {
	path     string
	lines    []string // without \n
	plan     *Plan
	comments []string // before the next step
	places   []int    // lines of comments
	steps    int
	crlf     int
	listed   bool // the tools, in a hint
	found    []diag.Diagnostic
}

func (p *parser) report(line, col int, rule, message, hint string) {
	if len(p.found) < MaxFindings || rule == RuleSize {
		p.found = append(p.found, diag.Diagnostic{Pos: diag.Pos{Path: p.path, Line: line, Col: col}, Rule: rule, Severity: diag.Error, Message: brief(message), Hint: brief(hint)})
	}
}

// brief keeps a finding readable, and a flood of them small.
func brief(s string) string { return diag.Cut(s, 1000) }

// bytes finds what no text may hold.
func (p *parser) bytes(data []byte) {
	if utf8.Valid(data) {
		return
	}
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	p.report(1+bytes.Count(data[:at], []byte("\n")), at-bytes.LastIndexByte(data[:at], '\n'), RuleUTF8,
		fmt.Sprintf("the byte 0x%02x is not UTF-8", data[at]), "save the plan as UTF-8")
}

// line is a line of the plan's own, not of a block: without \r, and visible.
func (p *parser) line(i int) string {
	text, found := strings.CutSuffix(p.lines[i], "\r")
	if found {
		if p.crlf++; p.crlf == 1 {
			p.report(i+1, len(text)+1, RuleCRLF, "the line ends in CR LF", "save the plan with LF line ends: sed -i 's/\\r$//' "+quoted(p.path))
		}
	}
	plain := strings.ReplaceAll(text, "\t", " ")
	if seen := diag.Clean(plain); seen != plain && utf8.ValidString(plain) {
		at := 0
		for at < len(plain) && plain[at] == seen[at] {
			at++
		}
		p.report(i+1, at+1, RuleControl, "the line holds a character that cannot be seen", "remove it; a plan is read by people, too")
	}
	return text
}

// blockForm reads steps between lines `---`.
func (p *parser) blockForm() {
	for i, first := 0, true; i < len(p.lines); first = false {
		i = p.segment(i, first)
	}
}

// segment reads the step that starts at line i and returns where the next does.
func (p *parser) segment(i int, first bool) (next int) {
	start := i
	for ; i < len(p.lines); i++ {
		text := p.line(i)
		switch trimmed := strings.TrimSpace(text); {
		case text == separator:
			if !first && start < i+1 && len(p.comments) == 0 {
				p.report(i+1, 1, RuleEmpty, "there is no step between two lines ---", "remove one of them; a block that holds such a line is written as a heredoc, <<WORD ... WORD")
			}
			return i + 1
		case trimmed == "":
		case trimmed[0] == '#':
			p.comment(i, trimmed)
		default:
			return p.blockStep(i, text)
		}
	}
	return i
}

func (p *parser) comment(i int, text string) {
	p.comments = append(p.comments, text)
	p.places = append(p.places, i+1)
}

// blockStep reads a step whose first line is i.
func (p *parser) blockStep(i int, text string) (next int) {
	if strings.TrimLeft(text, " \t") != text {
		p.report(i+1, 1, RuleIndent, "the step is indented", "a step starts at the beginning of its line; only bodies of for_each_file are indented")
		text = strings.TrimLeft(text, " \t")
	}
	step := p.step(i, text, 0)
	word := ""
	if step.Tool != "" {
		word = p.heredoc(&step)
	}
	from, end := i+1, i+1
	if word == "" {
		for end < len(p.lines) && strings.TrimSuffix(p.lines[end], "\r") != separator {
			end++
		}
		next = min(end+1, len(p.lines)+1)
	} else {
		for end < len(p.lines) && strings.TrimSuffix(p.lines[end], "\r") != word {
			end++
		}
		next = p.afterHeredoc(i, end, word)
	}
	if step.Tool == ForEachFile {
		if word != "" {
			p.report(i+1, 1, RuleHeredoc, "for_each_file takes no heredoc", "indent its body by two spaces")
		}
		p.body(from, end, 1, &step.Body)
	} else if from < end {
		step.Block = strings.Join(p.lines[from:end], "\n") + "\n"
		step.lower()
	}
	p.plan.Steps = append(p.plan.Steps, step)
	return next
}

// heredoc takes <<WORD off a step's arguments.
func (p *parser) heredoc(s *Step) string {
	at := strings.LastIndex(s.Args, "<<")
	if at < 0 || !heredocWord(s.Args[at+2:]) {
		return ""
	}
	word := s.Args[at+2:]
	s.Args = strings.TrimRight(s.Args[:at], " \t")
	return word
}

func heredocWord(s string) bool {
	for i, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// afterHeredoc reads from a heredoc's last line to the end of its segment.
func (p *parser) afterHeredoc(i, end int, word string) (next int) {
	if end == len(p.lines) {
		p.report(i+1, 1, RuleHeredoc, fmt.Sprintf("the heredoc <<%s does not end", word), fmt.Sprintf("end the block by a line that is %s and nothing else", word))
		return end
	}
	p.line(end)
	for next = end + 1; next < len(p.lines); next++ {
		text := p.line(next)
		if text == separator {
			return next + 1
		}
		if strings.TrimSpace(text) != "" {
			p.report(next+1, 1, RuleHeredoc, fmt.Sprintf("there is text behind the end of the heredoc <<%s", word), "write a line --- before the next step")
			for next < len(p.lines) && strings.TrimSuffix(p.lines[next], "\r") != separator {
				next++
			}
			return min(next+1, len(p.lines))
		}
	}
	return next
}

// step splits a line into tool and arguments. Line i is where it stands, indent
// how many bytes before it.
func (p *parser) step(i int, text string, indent int) Step {
	p.steps++
	name, rest := text, ""
	if at := strings.IndexAny(text, " \t"); at >= 0 {
		name, rest = text[:at], text[at:]
	}
	args := strings.Trim(rest, " \t")
	s := Step{Comments: p.comments, Tool: name, Args: args, Line: i + 1, Col: indent + 1}
	s.argsAt = indent + 1 + len(name) + len(rest) - len(strings.TrimLeft(rest, " \t"))
	p.comments = nil
	if byName[name] == nil {
		p.unknown(&s)
	}
	return s
}

// unknown reports a line that starts no tool.
func (p *parser) unknown(s *Step) {
	if len(p.found) >= MaxFindings {
		return // looking for near names costs more than all else
	}
	hint := ""
	if strings.HasPrefix(s.Tool, "{") { // the form of `git ward plan lint --grammar --schema`
		hint = "JSON is for the tool plan of models; a file has the text form, which git ward plan lint --grammar prints; "
	} else if near := diag.Nearest(s.Tool, toolNames()); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	} else if !p.listed {
		p.listed = true // once: it is long
		hint = "the tools are " + strings.Join(toolNames(), ", ") + "; "
	}
	if p.plan.Form == LineForm {
		hint += "if the line belongs to the step above, use block form: a line --- between steps"
	} else {
		hint += "if the line belongs to the block above, write that as a heredoc, <<WORD ... WORD"
	}
	p.report(s.Line, s.Col, RuleTool, fmt.Sprintf("%q is not a tool", cut(s.Tool)), hint)
}

// cut shortens text for a message.
func cut(s string) string { return diag.Cut(s, 60) }

// body reads lines from..end as steps one a line: a loop's body (depth 1) or a
// plan in line form (depth 0). Deeper ones go into the bodies of their loops.
func (p *parser) body(from, end, depth int, steps *[]Step) {
	// at[d] is where steps of depth d go.
	at := []*[]Step{steps}
	for i := from; i < end; i++ {
		text := p.line(i)
		trimmed := strings.TrimLeft(text, " \t")
		switch {
		case strings.TrimSpace(text) == "":
			continue
		case trimmed[0] == '#':
			p.comment(i, strings.TrimRight(trimmed, " \t"))
			continue
		}
		indent := len(text) - len(trimmed)
		level := p.level(i, text[:indent], depth, len(at)-1)
		at = at[:level+1]
		step := p.step(i, trimmed, indent)
		if word := p.heredocIn(&step); word != "" {
			p.report(i+1, 1, RuleHeredoc, fmt.Sprintf("<<%s: a step of one line takes no heredoc", word), "use block form: a line --- between steps")
		}
		list := at[level]
		*list = append(*list, step)
		if step.Tool == ForEachFile {
			at = append(at, &(*list)[len(*list)-1].Body)
		}
	}
}

func (p *parser) heredocIn(s *Step) string {
	if byName[s.Tool] == nil {
		return ""
	}
	copied := *s
	return p.heredoc(&copied)
}

// level is the nesting of a line by its indentation, at most open.
func (p *parser) level(i int, indent string, depth, open int) int {
	if strings.Contains(indent, "\t") {
		p.report(i+1, strings.Index(indent, "\t")+1, RuleIndent, "a tab in the indentation", "indent by two spaces a level")
		return min(open, max(0, strings.Count(indent, "\t")-depth))
	}
	level := len(indent)/2 - depth
	switch {
	case len(indent)%2 != 0:
		p.report(i+1, 1, RuleIndent, fmt.Sprintf("indented by %d spaces", len(indent)), "indent by two spaces a level")
	case level < 0:
		p.report(i+1, 1, RuleIndent, "the body of a loop is indented", "indent by two spaces a level; a line --- ends the step")
	case level > open && open+depth == 0:
		p.report(i+1, 1, RuleIndent, "indented, but in no loop", "only bodies of for_each_file are indented; for text of several lines use block form, a line --- between steps")
	case level > open:
		p.report(i+1, 1, RuleIndent, fmt.Sprintf("indented by %d spaces where at most %d are meant", len(indent), 2*(open+depth)), "indent by two spaces a level; only bodies of for_each_file are indented")
	}
	return min(open, max(0, level))
}

// headers reads the comments before the first step, and warns of later ones.
func (p *parser) headers() {
	comments := p.comments
	if len(p.plan.Steps) > 0 {
		comments = p.plan.Steps[0].Comments
	}
	for i, c := range comments {
		line := 0
		if i < len(p.places) {
			line = p.places[i]
		}
		if v, ok := header(c, "FSM"); ok {
			p.setHeader(line, "FSM", v, &p.plan.FSM)
			p.plan.fsmLine = line
			if bad := BadPath(v); bad != "" {
				p.report(line, 1, RuleHeader, fmt.Sprintf("# FSM: %q %s", cut(v), bad), "write fdc, sub, research, or the path of a machine that main has")
			}
		}
		if v, ok := header(c, "Model"); ok {
			p.setHeader(line, "Model", v, &p.plan.Model)
			if v != "A" && v != "B" {
				p.report(line, 1, RuleHeader, fmt.Sprintf("%q is not a model", cut(v)), "the models are A and B")
			}
		}
	}
	p.late(len(comments))
}

// late warns of headers that stand too late to count. The first comments, before
// the first step, are those that do.
func (p *parser) late(first int) {
	var later []string
	eachStep(p.plan.Steps, func(s *Step) { later = append(later, s.Comments...) })
	if len(p.plan.Steps) > 0 {
		later = append(later, p.comments...)
	}
	for i := first; i < min(len(later), len(p.places)); i++ {
		for _, key := range []string{"FSM", "Model"} {
			if _, ok := header(later[i], key); ok && len(p.found) < MaxFindings {
				p.report(p.places[i], 1, RuleHeader, fmt.Sprintf("# %s: does not count here", key), "write it before the first step")
				p.found[len(p.found)-1].Severity = diag.Warning
			}
		}
	}
}

func (p *parser) setHeader(line int, key, value string, to *string) {
	if *to != "" {
		p.report(line, 1, RuleHeader, fmt.Sprintf("a second # %s:", key), "keep one of them")
	}
	*to = value
}
