package comms

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// MaxExcerpt bounds what a worker's prompt has of COMMS.md, in bytes (AGT-2): a document that
// is no longer is told whole.
const MaxExcerpt = 16 << 10

// What an excerpt has room for, in bytes. Reports and questions take what the rest leaves of
// MaxExcerpt.
const (
	excerptPreamble  = 1 << 10
	excerptDirective = 6 << 10
	excerptAfter     = 512     // of each directive that this one comes after
	excerptBefore    = 2 << 10 // of all of those
	excerptOthers    = 2 << 10 // a line each
	excerptTitle     = 80
)

// Excerpt is what the worker of a directive is told of COMMS.md: all of it where it is short,
// else what concerns the directive, a line for each other one, the newest first, and the
// commands that show the rest, which is read at a ref of the worker's clone.
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
	name   string // of the directive that it is for
	states stateTable
	text   strings.Builder
}

func (x *excerpt) add(text string) { x.text.WriteString(text) }

// directives are the one that it is for, those that it comes after, and a line for each other.
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

// others are the directives that are not told otherwise, the newest first.
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

// about are the reports and questions on the directive that there is room for, in the order of
// the document. The newest ones say most, and a question as much as a report.
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

// entries are those on the directive, the newest first.
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

// cutLines is a text of at most so many bytes, in whole lines where they are not very long; the
// last says that it was cut.
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
