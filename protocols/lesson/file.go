package lesson

import (
	"bytes"
	"fmt"
	"slices"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// rule ids of the findings.
const (
	ruleSchema = "lessons/schema"
	ruleFixed  = "lessons/fixed"
)

// maxFindings bounds the findings about one file.
const maxFindings = 1000

// Parse reads lessons.jsonl. It finds all that is wrong with it, by line; the
// lessons are those that have no fault.
func Parse(data []byte) (list []Lesson, found []diag.Diagnostic) {
	report := func(line, col int, message, hint string) {
		if len(found) < maxFindings {
			found = append(found, diag.Diagnostic{Pos: diag.Pos{Path: Path, Line: line, Col: col}, Rule: ruleSchema,
				Severity: diag.Error, Message: message, Hint: hint})
		}
	}
	if len(data) > MaxBytes {
		report(0, 0, fmt.Sprintf("the file has %d bytes, more than %d", len(data), MaxBytes), "keep the lessons that still teach")
		return nil, found
	}
	lines := map[string]int{}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if !bytes.HasSuffix(text, []byte("\n")) {
			report(line, 1, "the last line has no newline", "end the file with a newline")
		}
		if len(text) > MaxLine {
			report(line, 1, fmt.Sprintf("the lesson has %d bytes, more than %d", len(text), MaxLine), "say it shorter")
			continue
		}
		var l Lesson
		if fault, ok := jsondoc.Decode(bytes.TrimRight(text, "\n"), &l, ruleSchema, line); !ok {
			report(fault.Line, fault.Col, fault.Message, fault.Hint)
			continue
		}
		if message, hint := l.fault(); message != "" {
			report(line, 1, message, hint)
			continue
		}
		if first, twice := lines[l.ID]; twice {
			report(line, 1, fmt.Sprintf("lesson_id %q stands on line %d already", clip(l.ID), first), "a lesson stands once: keep the line whose status is further on")
			continue
		}
		lines[l.ID] = line
		list = append(list, l)
	}
	return list, found
}

// CheckUpdate checks a change of lessons.jsonl (LES-2): an existing lesson stays, and only its
// status and reason may change. Both versions must have been parsed without errors; data is
// the new file.
func CheckUpdate(old, new []Lesson, data []byte) (found []diag.Diagnostic) {
	now := make(map[string]Lesson, len(new))
	for _, l := range new {
		now[l.ID] = l
	}
	for _, l := range old {
		after, ok := now[l.ID]
		d := diag.Diagnostic{Pos: diag.Pos{Path: Path, Line: 1, Col: 1}, Rule: ruleFixed, Severity: diag.Error}
		switch {
		case ok && after.Same(l):
			continue
		case ok:
			d.Line = lineOf(data, l.ID)
			d.Message = fmt.Sprintf("the lesson %s says something else than before", l.ID)
			d.Hint = "status and reason are all that changes in a lesson; write another lesson instead"
		default:
			d.Message = fmt.Sprintf("the lesson %s is gone", l.ID)
			d.Hint = "bring its line back: lessons are merged by id, and none is dropped"
		}
		if len(found) < maxFindings {
			found = append(found, d)
		}
	}
	return found
}

// lineOf is the line of a lesson in a file that parses.
func lineOf(data []byte, id string) int {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if bytes.Contains(text, []byte(`"`+id+`"`)) {
			if list, _ := Parse(text); len(list) == 1 && list[0].ID == id {
				return line
			}
		}
	}
	return 1
}

// progress orders what may have become of a lesson in two places.
var progress = []Status{Pending, Noted, Failed, Applied}

// Merge joins lessons by id, in the order in which they first stand. Of two lines
// of one lesson the one that is further on is taken: applied before failed before
// pending. Two lessons of one id that say different things are an error: an id is
// made of what the lesson says.
func Merge(lists ...[]Lesson) ([]Lesson, error) {
	var all []Lesson
	at := map[string]int{}
	for _, list := range lists {
		for _, l := range list {
			i, known := at[l.ID]
			switch {
			case !known:
				at[l.ID] = len(all)
				all = append(all, l)
			case !all[i].Same(l):
				return nil, fmt.Errorf("two lessons have the id %s and say different things", l.ID)
			case slices.Index(progress, l.Status) > slices.Index(progress, all[i].Status):
				all[i] = l
			}
		}
	}
	return all, nil
}

// MergeFiles joins two versions of the file by id, as Merge does. Ours stands as it
// is, but for the status and reason of lessons that are further on in theirs;
// those that only theirs has follow.
func MergeFiles(ours, theirs []byte) ([]byte, error) {
	mine, found := Parse(ours)
	other, more := Parse(theirs)
	if found = append(found, more...); diag.HasErrors(found) {
		return nil, fmt.Errorf("%s: %s", found[0].Pos, found[0].Message)
	}
	all, err := Merge(mine, other)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(ours)
	for i, l := range all[:len(mine)] {
		if l != mine[i] {
			if out, err = Mark(out, l.ID, l.Status, l.Reason.Raw()); err != nil {
				return nil, err
			}
		}
	}
	return append(out, Format(all[len(mine):])...), nil
}

// Mark returns a file that parses with another status and reason of one lesson;
// all its other lines stay as they are, byte for byte.
func Mark(data []byte, id string, status Status, reason string) ([]byte, error) {
	var out bytes.Buffer
	marked := false
	for text := range bytes.Lines(data) {
		if list, _ := Parse(text); len(list) == 1 && list[0].ID == id {
			list[0].Status, list[0].Reason = status, diag.Untrusted(reason)
			text, marked = Format(list), true
		}
		out.Write(text)
	}
	if !marked {
		return nil, fmt.Errorf("there is no lesson %q in %s", clip(id), Path)
	}
	return out.Bytes(), nil
}

// Add appends the lessons that a file does not have yet, and returns the new file and their
// number.
func Add(data []byte, list []Lesson) ([]byte, int, error) {
	have, found := Parse(data)
	if diag.HasErrors(found) {
		return nil, 0, fmt.Errorf("%s: %s", found[0].Pos, found[0].Message)
	}
	all, err := Merge(have, list)
	if err != nil {
		return nil, 0, err
	}
	fresh := all[len(have):]
	out := append(slices.Clone(data), Format(fresh)...)
	if len(out) > MaxBytes {
		return nil, 0, fmt.Errorf("%s would have %d bytes, more than %d", Path, len(out), MaxBytes)
	}
	return out, len(fresh), nil
}
