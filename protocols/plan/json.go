package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// document is a plan as JSON, which models write that call tools (PLAN-9). Schema says the
// same.
type document struct {
	FSM   string   `json:"fsm"`
	Model string   `json:"model"`
	Steps stepList `json:"steps"`
}

type jsonStep struct {
	Tool      string   `json:"tool"`
	Arguments string   `json:"arguments"`
	Block     string   `json:"block"`
	Evidence  textList `json:"evidence"`
	Body      stepList `json:"body"`
}

// stepList is an array of steps, or a string that holds one: models write both.
type stepList []jsonStep

// UnmarshalJSONFrom reads steps.
func (l *stepList) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return readInner(dec, (*[]jsonStep)(l), '"')
}

// textList is an array of strings, or one string.
type textList []string

// UnmarshalJSONFrom reads strings.
func (l *textList) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, (*[]string)(l))
	}
	var one string
	err := json.UnmarshalDecode(dec, &one)
	*l = textList{one}
	return err
}

// readInner reads a value, or the string of that kind that holds it as JSON.
func readInner(dec *jsontext.Decoder, into any, kind jsontext.Kind) error {
	if dec.PeekKind() != kind {
		return json.UnmarshalDecode(dec, into)
	}
	var text string
	if err := json.UnmarshalDecode(dec, &text); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into, json.RejectUnknownMembers(true))
}

// FromJSON reads a plan as Schema describes it, or an array of its steps. The plan is in
// block form, and what its text parses to: print it with String, and lint that. The error
// names the member that is wrong.
func FromJSON(data []byte) (*Plan, error) {
	if len(data) > MaxBytes {
		return nil, diag.Hint(fmt.Errorf("the plan has %d bytes, more than %d", len(data), MaxBytes), "divide it into plans that call each other (call_plan)")
	}
	var doc document
	into := any(&doc)
	if strings.HasPrefix(strings.TrimLeft(string(data), " \t\r\n"), "[") {
		into = (*[]jsonStep)(&doc.Steps)
	}
	if d, ok := jsondoc.Decode(data, into, RuleSchema, 1); !ok {
		return nil, diag.Hint(fmt.Errorf("%d:%d: %s", d.Line, d.Col, d.Message), "%s", d.Hint)
	}
	written := &Plan{Form: BlockForm}
	for i, step := range doc.Steps {
		s, err := step.step(fmt.Sprintf("/steps/%d", i), 0)
		if err != nil {
			return nil, err
		}
		written.Steps = append(written.Steps, s)
	}
	if len(written.Steps) == 0 {
		return nil, diag.Hint(errors.New("the plan has no steps"), `write "steps": [{"tool": "set_plan", "block": "what the plan is for"}, ...]`)
	}
	first := &written.Steps[0]
	for _, h := range []struct{ key, value string }{{"Model", doc.Model}, {"FSM", doc.FSM}} {
		if value := oneLine(h.value); value != "" {
			first.Comments = append([]string{"# " + h.key + ": " + value}, first.Comments...)
		}
	}
	p, _ := Parse([]byte(written.String()), "plan")
	return p, nil
}

// step is a step of the text. At is where it stands in the document.
func (j *jsonStep) step(at string, loops int) (Step, error) {
	s := Step{Tool: strings.TrimSpace(j.Tool), Args: strings.TrimSpace(j.Arguments), Block: j.Block}
	if tool, rest, ok := strings.Cut(s.Tool, " "); ok && s.Args == "" && !strings.Contains(rest, "\n") {
		s.Tool, s.Args = tool, strings.TrimSpace(rest) // as the text form has it
	}
	if byName[s.Tool] == nil {
		return s, diag.Hint(fmt.Errorf("%s/tool: %q is not a tool", at, cut(s.Tool)), "%s",
			nearHint(s.Tool, toolNames(), "the tools are "+strings.Join(toolNames(), ", ")))
	}
	s.divide()
	for _, e := range j.Evidence {
		if e = oneLine(e); e != "" {
			s.Comments = append(s.Comments, "# Evidence: "+e)
		}
	}
	switch {
	case len(j.Body) > 0 && s.Tool != ForEachFile:
		return s, diag.Hint(fmt.Errorf("%s/body: %s takes no body", at, s.Tool), "only for_each_file has a body; the text of another step is its block")
	case s.Block != "" && (loops > 0 || s.Tool == ForEachFile):
		return s, diag.Hint(fmt.Errorf("%s/block: a step of a loop is one line and takes no block", at), "put the step into a plan of its own, and call that (call_plan)")
	case loops > MaxLoopDepth:
		return s, diag.Hint(fmt.Errorf("%s: more than %d loops inside each other", at, MaxLoopDepth), "move the inner ones into a plan of their own (call_plan)")
	}
	for i, inner := range j.Body {
		b, err := inner.step(fmt.Sprintf("%s/body/%d", at, i), loops+1)
		if err != nil {
			return s, err
		}
		s.Body = append(s.Body, b)
	}
	return s, nil
}

// divide puts what was written into arguments and block to where the text has it.
func (s *Step) divide() {
	word := ""
	first, rest, lines := strings.Cut(s.Args, "\n")
	if at := strings.LastIndex(first, "<<"); at >= 0 && heredocWord(first[at+2:]) {
		word = first[at+2:]
	}
	switch {
	case byName[s.Tool].args == anyText || byName[s.Tool].args == message:
		if lines || word != "" || s.Tool == Bash && s.Args != "" && strings.TrimSpace(s.Block) != "" {
			s.Args, s.Block = "", strings.TrimSuffix(s.Args+"\n"+s.Block, "\n") // a shell's own heredoc, or one text
		}
	default:
		if lines {
			s.Args, s.Block = strings.TrimSpace(first), rest+"\n"+s.Block
		}
		if word != "" {
			s.Args = strings.TrimSpace(strings.TrimSuffix(s.Args, "<<"+word))
			s.Block = strings.TrimSuffix(strings.TrimSuffix(s.Block, "\n"), "\n"+word)
		}
	}
	if s.Block != "" && !strings.HasSuffix(s.Block, "\n") {
		s.Block += "\n"
	}
}

// oneLine is a text without line ends and the blanks around.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
