package comms

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// MaxExcerpt bounds the part of COMMS.md in a worker's prompt, in bytes (AGT-2). A document that fits is
// included whole.
const MaxExcerpt = 16 << 10

// The limits of an excerpt's parts, in bytes. Reports and questions get the rest of MaxExcerpt.
const (
	excerptPreamble  = 1 << 10
	excerptDirective = 6 << 10
	excerptAfter     = 512     // each directive in `- after:`
	excerptBefore    = 2 << 10 // all of those
	excerptOthers    = 2 << 10 // one line for each other directive
	excerptTitle     = 80
)

// Excerpt returns the part of COMMS.md for the prompt of a directive's worker: all of a short document,
// else the directive, its reports and questions, one line for each other directive, newest first, and
// the commands that show the rest. ref is the ref in the worker's clone that has COMMS.md.
func Excerpt(data []byte, directive, ref string) string {
	if len(data) <= MaxExcerpt {
		return string(data)
	}
	doc := read(data)
	x := &excerpt{doc: doc, name: directive, states: doc.states()}
	x.add("# COMMS\n\n")
	x.add(fmt.Sprintf("This is the part of COMMS.md that concerns %s. All of it has %d bytes, %s and %s:\n\n    git show %s:%s\n    git show %[5]s:%[6]s | sed -n '/^### D-1:/,/^###* /p'\n\n",
		directive, len(data), diag.Count(len(doc.Directives), "directive"), diag.Count(len(doc.Reports), "report"), ref, Path))
	if _, text, ok := strings.Cut(doc.layout.head(preamble), "\n"); ok && !isBlank(text) {
		x.add(cutLines(trimBlankLines(text), excerptPreamble) + "\n\n")
	}
	x.add(headings[directives] + "\n\n")
	x.directives()
	reported, asked := x.about()
	x.section(headings[reports], reported)
	x.section(headings[questions], asked)
	return x.text.String()
}

type excerpt struct {
	doc    *Document
	name   string // the worker's directive
	states stateTable
	text   strings.Builder
}

func (x *excerpt) add(text string) { x.text.WriteString(text) }

// directives writes the worker's directive, those in its `- after:`, and one line for each other.
func (x *excerpt) directives() {
	d := x.doc.Directive(x.name)
	if d == nil {
		d = &Directive{}
	} else {
		x.add(cutLines(d.Raw, excerptDirective) + "\n")
	}
	before := 0
	told := map[string]bool{x.name: true}
	for _, name := range d.Options.After {
		other := x.doc.Directive(name)
		if other == nil || told[name] {
			continue
		}
		raw := cutLines(other.Raw, excerptAfter) + "\n"
		if before += len(raw); before > excerptBefore {
			break
		}
		told[name] = true
		x.add(raw)
	}
	x.others(told)
}

// others writes one line for each directive not in told, newest first.
func (x *excerpt) others(told map[string]bool) {
	var b strings.Builder
	lines, left := 0, 0
	for _, d := range slices.Backward(x.doc.Directives) {
		if told[d.Name()] {
			continue
		}
		line := fmt.Sprintf("- %s (%s): %s\n", d.Name(), x.states.of(d), diag.Cut(d.Title.String(), excerptTitle))
		if left > 0 || b.Len()+len(line) > excerptOthers {
			left++
			continue
		}
		b.WriteString(line)
		lines++
	}
	if lines == 0 {
		return
	}
	x.add("The others:\n\n" + b.String())
	if left > 0 {
		x.add(fmt.Sprintf("- and %s before them\n", diag.Count(left, "directive")))
	}
	x.add("\n")
}

// about returns the newest reports and questions on the directive that fit, in the order of the
// document.
func (x *excerpt) about() (reported, asked []string) {
	room := MaxExcerpt - x.text.Len() - len(headings[reports]+headings[questions]+"\n\n\n\n")
	for _, e := range x.entries() {
		if room -= len(e.raw) + 1; room < 0 {
			break
		}
		if e.question {
			asked = append(asked, e.raw)
		} else {
			reported = append(reported, e.raw)
		}
	}
	slices.Reverse(reported)
	slices.Reverse(asked)
	return reported, asked
}

// said is a report or a question.
type said struct {
	raw      string
	question bool
}

// entries returns the reports and questions on the directive, newest first.
func (x *excerpt) entries() (list []said) {
	r, q := len(x.doc.Reports)-1, len(x.doc.Questions)-1
	for r >= 0 || q >= 0 {
		var raw, about string
		question := r < 0 || q >= 0 && x.doc.Questions[q].Time.After(x.doc.Reports[r].Time)
		if question {
			raw, about = x.doc.Questions[q].Raw, x.doc.Questions[q].Directive
			q--
		} else {
			raw, about = x.doc.Reports[r].Raw, x.doc.Reports[r].Directive
			r--
		}
		if about == x.name {
			list = append(list, said{cutLines(raw, MaxQuestionBytes), question})
		}
	}
	return list
}

func (x *excerpt) section(heading string, entries []string) {
	if len(entries) == 0 {
		return
	}
	x.add(heading + "\n\n")
	for _, raw := range entries {
		x.add(raw + "\n")
	}
}

// cutLines cuts a text to size bytes, at a line's end unless lines are very long. Its last line then says
// that it was cut.
func cutLines(text string, size int) string {
	if len(text) <= size {
		return text
	}
	text = strings.ToValidUTF8(text[:size-len(excerptCut)], "")
	if at := strings.LastIndexByte(text, '\n'); at > size/2 {
		text = text[:at+1]
	}
	return strings.TrimSuffix(text, "\n") + excerptCut
}

const excerptCut = "\n(cut)\n"
