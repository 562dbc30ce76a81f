package lesson

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
	"git-ward/protocols/charter"
	"git-ward/protocols/mergediff"
)

// Section is the heading of a post-mortem below which lessons stand; a number
// may stand before it.
const Section = "Corrective Actions & Lessons Learned"

// MaxPostMortem bounds a post-mortem, in bytes.
const MaxPostMortem = 1 << 20

// Extract reads the lessons of a post-mortem. path is for the findings. With an
// error among them nothing should be recorded.
func Extract(path string, data []byte) ([]Lesson, []diag.Diagnostic) {
	x := &extractor{path: path, meta: map[string]string{}}
	switch {
	case len(data) > MaxPostMortem:
		x.add(0, "postmortem/size", fmt.Sprintf("the post-mortem has %d bytes, more than %d", len(data), MaxPostMortem), "shorten it")
		return nil, x.found
	case !utf8.Valid(data):
		x.add(0, "postmortem/utf8", "the post-mortem is not valid UTF-8", "save it as UTF-8")
		return nil, x.found
	}
	x.read(data)
	return x.lessons(), x.found
}

// extractor reads a post-mortem line by line.
type extractor struct {
	path  string
	found []diag.Diagnostic
	meta  map[string]string // "task id", "date", in lower case
	items []*item

	line   int
	level  int    // of the section's heading; 0 outside
	seen   bool   // the section was there
	fence  string // that is open, with its indentation before it
	indent int
	part   *[]string
}

// item is a lesson with its action, as written.
type item struct {
	line    int
	lesson  []string
	action  []string
	has     bool     // an action was given
	blocks  int      // code blocks below the action
	diff    []string // of the first
	unended bool
}

func (x *extractor) add(line int, rule, message, hint string) {
	if len(x.found) < maxFindings {
		x.found = append(x.found, diag.Diagnostic{Pos: diag.Pos{Path: x.path, Line: line}, Rule: rule, Severity: diag.Error, Message: message, Hint: hint})
	}
}

func (x *extractor) read(data []byte) {
	for raw := range bytes.Lines(data) {
		x.line++
		line := strings.TrimRight(string(raw), "\r\n")
		if x.fenced(line) {
			continue
		}
		if level, title := heading(line); level > 0 {
			x.heading(level, title)
			continue
		}
		x.text(line)
	}
	if x.fence != "" && x.level > 0 && len(x.items) > 0 {
		x.items[len(x.items)-1].unended = true
	}
	if !x.seen {
		x.add(0, "postmortem/section", fmt.Sprintf("there is no section %q", Section), "add the heading ## "+Section+" with items of **Lesson:** and **Action:**")
	}
}

// fenced follows code blocks: what is inside is neither heading nor item. The
// first block below an action is its diff.
func (x *extractor) fenced(line string) bool {
	text := strings.TrimLeft(line, " \t")
	open := len(text) - len(strings.TrimLeft(text, "`"))
	last := x.last()
	switch {
	case x.fence == "" && open >= 3:
		x.fence, x.indent = text[:open], len(line)-len(text)
		if last != nil && last.has {
			last.blocks++
		}
		return true
	case x.fence == "":
		return false
	case open >= len(x.fence) && strings.Trim(text, "` ") == "":
		x.fence = ""
		return true
	}
	if last != nil && last.has && last.blocks == 1 {
		last.diff = append(last.diff, dedent(line, x.indent))
	}
	return true
}

// last is the open item of the section, nil when there is none.
func (x *extractor) last() *item {
	if x.level == 0 || len(x.items) == 0 {
		return nil
	}
	return x.items[len(x.items)-1]
}

// dedent takes away the blanks by which the whole block is indented.
func dedent(line string, n int) string {
	for n > 0 && line != "" && (line[0] == ' ' || line[0] == '\t') {
		line, n = line[1:], n-1
	}
	return line
}

// heading is the level and text of an ATX heading, 0 for any other line.
func heading(line string) (level int, title string) {
	rest := strings.TrimLeft(line, "#")
	level = len(line) - len(rest)
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' {
		return 0, ""
	}
	return level, strings.TrimSpace(rest)
}

func (x *extractor) heading(level int, title string) {
	x.part = nil
	title = strings.TrimLeft(title, "0123456789. )")
	switch {
	case strings.EqualFold(title, Section):
		if x.seen {
			x.add(x.line, "postmortem/section", "the section stands here a second time", "keep one")
		}
		x.level, x.seen = level, true
	case x.level > 0 && level <= x.level:
		x.level = 0
	}
}

// text reads a line that is neither heading nor code.
func (x *extractor) text(line string) {
	trimmed := unmark(line)
	switch {
	case x.level == 0:
		if key, value, ok := strings.Cut(trimmed, ":**"); ok && strings.HasPrefix(key, "**") {
			x.meta[strings.ToLower(key[2:])] = strings.Trim(value, " `")
		}
	case labelled(trimmed, "lesson") != nil:
		x.items = append(x.items, &item{line: x.line})
		x.part = &x.last().lesson
		x.more(*labelled(trimmed, "lesson"))
	case labelled(trimmed, "action") != nil:
		last := x.last()
		if last == nil || last.has {
			x.add(x.line, "postmortem/item", "an action without a lesson before it", "write **Lesson:** first, then its **Action:**")
			return
		}
		last.has = true
		x.part = &last.action
		x.more(*labelled(trimmed, "action"))
	case strings.TrimSpace(line) == "":
	case trimmed != line && line[0] >= '0' && line[0] <= '9': // a numbered lesson of no other form
		x.items = append(x.items, &item{line: x.line, has: true})
		x.part = &x.last().lesson
		x.more(trimmed)
	default:
		x.more(line)
	}
}

// labelled is what stands behind a label, `**Lesson:**`, `**Lesson**:` or `Lesson:`; nil where
// a line does not begin with it.
func labelled(line, label string) *string {
	bare := strings.TrimLeft(line, "*_")
	if len(bare) < len(label) || !strings.EqualFold(bare[:len(label)], label) {
		return nil
	}
	marks := line[:len(line)-len(bare)]
	rest, colon := strings.CutPrefix(bare[len(label):], ":")
	rest, ended := strings.CutPrefix(rest, marks)
	if !colon {
		rest, colon = strings.CutPrefix(rest, ":")
	}
	if !colon || !ended {
		return nil
	}
	return &rest
}

// unmark takes blanks and the mark of a list item from a line.
func unmark(line string) string {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "0123456789")
	for _, mark := range []string{"- ", "* ", "+ ", ". ", ") "} {
		if (len(rest) < len(line)) == (mark[0] == '.' || mark[0] == ')') && strings.HasPrefix(rest, mark) {
			return strings.TrimSpace(rest[2:])
		}
	}
	return line
}

func (x *extractor) more(text string) {
	if text = strings.TrimSpace(text); text != "" && x.part != nil {
		*x.part = append(*x.part, text)
	}
}

// lessons makes lessons of the items; an item that nobody filled in is none.
func (x *extractor) lessons() (list []Lesson) {
	task, date := x.meta["task id"], x.meta["date"]
	if completed := x.meta["completion date"]; completed != "" {
		date = completed
	}
	if len(x.items) > 0 {
		if task == "" {
			x.add(0, "postmortem/task", "no line says the task", "add the line **Task ID:** D-<n> above the sections")
		}
		if !isDate(date) {
			x.add(0, "postmortem/date", fmt.Sprintf("the date %q is not of the form 2026-11-21", clip(date)), "add the line **Date:** 2026-11-21 above the sections")
		}
	}
	seen := map[string]bool{}
	for _, it := range x.items {
		if len(it.lesson)+len(it.action)+len(it.diff) == 0 {
			continue
		}
		l := Lesson{TaskID: task, Date: date, Lesson: diag.Untrusted(strings.Join(it.lesson, " ")), Status: Pending}
		x.checkItem(it, l.Lesson.Raw())
		action, reason := it.understand()
		l.Action, l.Reason = action, diag.Untrusted(reason)
		if l.Action.Type == None {
			l.Status = Noted
		}
		if l.ID = l.ContentID(); len(l.line()) >= MaxLine {
			x.add(it.line, "postmortem/item", fmt.Sprintf("the lesson takes more than %d bytes", MaxLine), "say it shorter")
		}
		if !seen[l.ID] { // the same words twice are one lesson
			seen[l.ID] = true
			list = append(list, l)
		}
	}
	return list
}

func (x *extractor) checkItem(it *item, lesson string) {
	switch {
	case lesson == "":
		x.add(it.line, "postmortem/item", "the lesson is empty", "say what was learnt")
	case !charter.IsText(lesson):
		x.add(it.line, "postmortem/item", "the lesson holds characters that nobody sees", "retype it")
	case !it.has:
		x.add(it.line, "postmortem/item", "the lesson has no **Action:**", "say what is to be done, or **Action:** none")
	case it.unended:
		x.add(it.line, "postmortem/item", "the code block of the action is not closed", "close it with ```")
	}
}

// understand reads the action. The reason says why it is none.
func (it *item) understand() (Action, string) {
	text := strings.Join(it.action, " ")
	bare := strings.TrimRight(text, ".: ")
	edit := func(op charter.Op, p Parameters) (Action, string) {
		return Action{UpdateProtocol, string(op), p}, ""
	}
	if v := match(bare, "add tool ", " to protocol "); v != nil {
		return edit(charter.AddTool, Parameters{Tool: v[0], Protocol: v[1]})
	}
	if v := match(bare, "deprecate tool ", " from protocol "); v != nil {
		return edit(charter.RemoveTool, Parameters{Tool: v[0], Protocol: v[1]})
	}
	if v := match(bare, "update rule ", " in protocol ", " to "); v != nil {
		return edit(charter.UpdateRule, Parameters{Rule: v[0], Protocol: v[1], Description: v[2]})
	}
	none := Action{Type: None, Parameters: Parameters{Text: clean(text)}}
	if text == "" && it.blocks == 0 {
		return none, "no action is given: it is kept for readers"
	}
	if !strings.HasPrefix(text, string(CodeChange)) {
		return none, "no program understands the action: it is kept for readers"
	}
	v := match(bare, string(CodeChange)+" ")
	if v == nil || it.blocks != 1 {
		return none, "a code change is PROPOSE_CODE_CHANGE 'path' and one code block with a merge diff"
	}
	change := Action{CodeChange, DiffTool, Parameters{File: v[0], Diff: strings.Join(it.diff, "\n") + "\n"}}
	if _, err := mergediff.Parse(change.Parameters.Diff); err != nil {
		return none, fmt.Sprintf("the merge diff is none: %v", err)
	}
	if message, _ := change.fault(); message != "" {
		return none, message
	}
	return change, ""
}

// clean makes text fit for one JSON string that people read.
func clean(s string) string { return clip(diag.Clean(s)) }

// match reads text that is the words, each followed by a value in single quotes:
// match("add 'x' to 'y'", "add ", " to ") is x, y. The first letter may be a
// capital. A value ends where the next word begins, the last one at the last
// quote, so that it may hold quotes itself. It is nil when text is anything else,
// or a value is empty.
func match(text string, words ...string) (values []string) {
	if text == "" || !strings.EqualFold(text[:1], words[0][:1]) {
		return nil
	}
	text = words[0][:1] + text[1:]
	for i, word := range words {
		quoted, ok := strings.CutPrefix(text, word+"'")
		end := strings.LastIndex(quoted, "'")
		if i < len(words)-1 {
			end = strings.Index(quoted, "'"+words[i+1]+"'")
		}
		if !ok || end < 1 {
			return nil
		}
		values, text = append(values, quoted[:end]), quoted[end+1:]
	}
	if text != "" {
		return nil
	}
	return values
}
