package plan

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"git-ward/protocols/fsm"
)

// Limits of a plan. A larger file is refused, never read in part.
const (
	MaxBytes     = 8 << 20
	MaxSteps     = 100_000
	MaxLoopDepth = 10
	// MaxFindings is how many findings about one plan are kept.
	MaxFindings = 1000
)

// MaxRecursionDepth is how many plans the execution stack may hold, the first one
// included (002, rule max-recursion-depth).
const MaxRecursionDepth = 10

// Form is the text form of a plan.
type Form string

// The two forms.
const (
	LineForm  Form = "line"
	BlockForm Form = "block"
)

// Plan is a plan as it is written.
type Plan struct {
	Form     Form
	FSM      string // of the header, "" for none
	Model    string // of the header: A, B, or "" for none
	Steps    []Step
	Trailing []string // comments behind the last step

	fsmLine int // of # FSM:
}

// Step is one step. A loop has a Body, other tools may have a Block, never both.
type Step struct {
	Comments []string // the lines before it, each with its #
	Tool     string
	Args     string // without the blanks around
	Block    string // lines, each with its end; "" for none
	Body     []Step
	Line     int // of the tool, from 1; 0 when the plan was not read from a text
	Col      int

	argsAt int // column of Args
}

// Machine is the name of the plan's machine.
func (p *Plan) Machine() string {
	if p.FSM == "" {
		return fsm.FDC
	}
	return p.FSM
}

// Len counts the steps, those of loops' bodies included.
func (p *Plan) Len() int { return count(p.Steps) }

// Calls reports whether a step of the plan calls that name.
func (p *Plan) Calls(name string) bool {
	called := false
	eachStep(p.Steps, func(s *Step) { called = called || s.Tool == CallPlan && s.Args == name })
	return called
}

// Task is the id of the task that the plan closes, "" when it closes none.
func (p *Plan) Task() string {
	id := ""
	eachStep(p.Steps, func(s *Step) {
		if closed := s.Closes(); closed != "" {
			id = closed
		}
	})
	return id
}

func count(steps []Step) int {
	n := len(steps)
	for i := range steps {
		n += count(steps[i].Body)
	}
	return n
}

// header is the value of a comment `# key: value`.
func header(comment, key string) (string, bool) {
	text := strings.TrimSpace(strings.TrimLeft(comment, "#"))
	if len(text) <= len(key) || !strings.EqualFold(text[:len(key)], key) || text[len(key)] != ':' {
		return "", false
	}
	return strings.TrimSpace(text[len(key)+1:]), true
}

// String prints the plan, so that Parse reads the same plan back if it is sound.
func (p *Plan) String() string {
	var b strings.Builder
	for i := range p.Steps {
		if i > 0 && p.Form == BlockForm {
			b.WriteString("---\n")
		}
		p.Steps[i].print(&b, p.Form, 0)
	}
	if p.Form == BlockForm && len(p.Steps) < 2 {
		b.WriteString("---\n") // or it would not be in block form
	}
	if p.Form == BlockForm && len(p.Steps) >= 2 && len(p.Trailing) > 0 {
		b.WriteString("---\n") // or they would belong to the last block
	}
	for _, c := range p.Trailing {
		b.WriteString(c + "\n")
	}
	return b.String()
}

func (s *Step) print(b *strings.Builder, form Form, depth int) {
	indent := strings.Repeat("  ", depth)
	for _, c := range s.Comments {
		b.WriteString(indent + c + "\n")
	}
	b.WriteString(indent + s.Tool)
	if s.Args != "" {
		b.WriteString(" " + s.Args)
	}
	word := ""
	if form == BlockForm && hasSeparator(s.Block) {
		word = freeWord(s.Block)
		b.WriteString(" <<" + word)
	}
	b.WriteByte('\n')
	if form == BlockForm {
		b.WriteString(s.Block)
	}
	if word != "" {
		b.WriteString(word + "\n")
	}
	for i := range s.Body {
		s.Body[i].print(b, form, depth+1)
	}
}

// hasSeparator reports whether a block holds a line that would end it.
func hasSeparator(block string) bool {
	for line := range strings.Lines(block) {
		if strings.TrimRight(line, "\r\n") == separator {
			return true
		}
	}
	return false
}

// freeWord is a word that is no line of the block.
func freeWord(block string) string {
	for n := 0; ; n++ {
		word := "END"
		if n > 0 {
			word += strconv.Itoa(n)
		}
		if !strings.Contains("\n"+block, "\n"+word+"\n") && !strings.Contains("\n"+block, "\n"+word+"\r\n") {
			return word
		}
	}
}

// Directive is the directive that the plan at a path is for by its name, plans/D-1.plan.txt
// or plans/D-1.iter_2.plan.txt, "" for another: a file that others call may have any name
// but such.
func Directive(name string) string {
	base, ok := strings.CutSuffix(path.Base(name), ".plan.txt")
	id, _, _ := strings.Cut(base, ".")
	digits, dashed := strings.CutPrefix(id, "D-")
	if _, err := strconv.Atoi(digits); !ok || !dashed || err != nil || path.Base(path.Dir(name)) != "plans" {
		return ""
	}
	return id
}

// IsPlan reports whether a file of that path is a plan by its name: plan.txt,
// NAME.plan.txt, and what is below plans/ but for programs (.udc), prose (.md),
// machines (.json) and hidden files.
func IsPlan(name string) bool {
	base := path.Base(name)
	switch {
	case base == "plan.txt" || strings.HasSuffix(base, ".plan.txt"):
		return true
	case !strings.HasPrefix(name, "plans/") || strings.HasPrefix(base, "."):
		return false
	}
	return !slices.Contains([]string{".udc", ".md", ".json"}, path.Ext(base))
}
