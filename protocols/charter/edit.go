package charter

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
)

// Edit is a change of one protocol (PROT-3).
type Edit struct {
	Op       Op
	Protocol string // protocol_id
	Tool     string // AddTool, RemoveTool
	Rule     string // UpdateRule: rule_id
	Text     string // UpdateRule: the new description
}

// Op is the kind of an edit, named as the command that makes it.
type Op string

// The edits.
const (
	AddTool    Op = "add-tool"
	RemoveTool Op = "remove-tool"
	UpdateRule Op = "update-rule"
)

// ErrUnchanged means that the protocol already is as the edit wants it.
var ErrUnchanged = errors.New("nothing to change")

// Apply makes the edit in a tree and returns the one file that changes. All
// bytes but those of the value that changes stay as they are: the order of keys,
// the formatting, the line end at the end. The error is ErrUnchanged when there
// is nothing to do, and names the nearest id when the edit names one that is not
// there.
func (e Edit) Apply(files []File) (File, error) {
	if err := e.check(); err != nil {
		return File{}, err
	}
	f, root, err := find(files, e.Protocol)
	if err != nil {
		return File{}, err
	}
	data, err := e.edit(f, root)
	if err != nil {
		return File{}, err
	}
	changed := File{f.Path, data}
	if _, found := Parse(changed); diag.HasErrors(found) {
		return File{}, fmt.Errorf("%s would be wrong after it: %s", f.Path, found[0].Message)
	}
	return changed, nil
}

func (e Edit) check() error {
	switch {
	case e.Op == UpdateRule && !IsText(e.Text):
		return errors.New("the new description is empty or holds characters that nobody sees")
	case e.Op != UpdateRule && !IsName(e.Tool):
		return fmt.Errorf("%q is not the name of a tool", clip(e.Tool))
	}
	return nil
}

// find is the file with a protocol. A file that does not parse cannot be edited.
func find(files []File, id string) (File, *node, error) {
	var ids []string
	for _, f := range sources(files) {
		if !IsProtocol(f.Path) {
			continue
		}
		p, found := Parse(f)
		if p.ID == id && id != "" {
			if diag.HasErrors(found) {
				return f, nil, fmt.Errorf("%s: %s", found[0].Pos, found[0].Message)
			}
			root, _ := readNode(f.Data)
			return f, &root, nil
		}
		ids = append(ids, p.ID)
	}
	return File{}, nil, fmt.Errorf("there is no protocol %q%s", clip(id), nearest(id, ids))
}

func nearest(word string, known []string) string {
	if near := diag.Nearest(word, known); near != "" {
		return fmt.Sprintf("; the nearest is %q", near)
	}
	return ""
}

func (e Edit) edit(f File, root *node) ([]byte, error) {
	if e.Op == UpdateRule {
		return e.updateRule(f.Data, root)
	}
	tools := root.member("associated_tools")
	at := -1
	if tools != nil {
		at = slices.IndexFunc(tools.parts, func(n node) bool { return n.text == e.Tool })
	}
	switch {
	case e.Op == AddTool && at >= 0:
		return nil, fmt.Errorf("%w: protocol %q has the tool %q already", ErrUnchanged, e.Protocol, e.Tool)
	case e.Op == AddTool && tools == nil:
		return addMember(f.Data, root, "associated_tools", e.Tool), nil
	case e.Op == AddTool:
		return addElement(f.Data, root, tools, e.Tool), nil
	case e.Op == RemoveTool && at < 0:
		return nil, e.noTool(tools)
	case e.Op == RemoveTool:
		return removeElement(f.Data, tools, at), nil
	}
	return nil, fmt.Errorf("%q is not an edit", e.Op)
}

func (e Edit) noTool(tools *node) error {
	var have []string
	for i := 0; tools != nil && i < len(tools.parts); i++ {
		have = append(have, tools.parts[i].text)
	}
	return fmt.Errorf("protocol %q has no tool %q%s", e.Protocol, e.Tool, nearest(e.Tool, have))
}

func (e Edit) updateRule(data []byte, root *node) ([]byte, error) {
	var ids []string
	for i := range root.member("rules").parts {
		rule := &root.member("rules").parts[i]
		if id := rule.member("rule_id").text; id != e.Rule {
			ids = append(ids, id)
			continue
		}
		description := rule.member("description")
		if description.text == e.Text {
			return nil, fmt.Errorf("%w: rule %q says that already", ErrUnchanged, e.Rule)
		}
		return splice(data, description.start, description.end, quote(e.Text)), nil
	}
	return nil, fmt.Errorf("protocol %q has no rule %q%s", e.Protocol, clip(e.Rule), nearest(e.Rule, ids))
}

// addElement appends to an array, separated as its last two elements are.
func addElement(data []byte, root, list *node, value string) []byte {
	n := len(list.parts)
	if n == 0 {
		indent := lineIndent(data, list.nameStart)
		if !bytes.Contains(data[root.start:root.end], []byte("\n")) {
			return splice(data, list.start, list.end, "["+quote(value)+"]")
		}
		return splice(data, list.start, list.end, "[\n"+indent+unit(data, root)+quote(value)+"\n"+indent+"]")
	}
	last := list.parts[n-1]
	gap := string(data[list.start+1 : last.start]) // what stands before the only element
	if n > 1 {
		_, gap, _ = strings.Cut(string(data[list.parts[n-2].end:last.start]), ",")
	}
	return splice(data, last.end, last.end, ","+gap+quote(value))
}

// addMember appends a list with one entry to an object.
func addMember(data []byte, root *node, name, value string) []byte {
	last := root.parts[len(root.parts)-1] // a valid protocol has three at least
	_, gap, _ := strings.Cut(string(data[root.parts[len(root.parts)-2].end:last.nameStart]), ",")
	body := "[" + quote(value) + "]"
	if strings.Contains(gap, "\n") {
		indent := lineIndent(data, last.nameStart)
		body = "[\n" + indent + unit(data, root) + quote(value) + "\n" + indent + "]"
	}
	colon := ": "
	if !bytes.Contains(data[last.nameStart:last.start], []byte(" ")) {
		colon = ":"
	}
	return splice(data, last.end, last.end, ","+gap+quote(name)+colon+body)
}

// removeElement takes one element out, with the comma that goes with it.
func removeElement(data []byte, list *node, i int) []byte {
	switch n := len(list.parts); {
	case n == 1:
		return splice(data, list.start, list.end, "[]")
	case i == n-1:
		return splice(data, list.parts[i-1].end, list.parts[i].end, "")
	default:
		return splice(data, list.parts[i].start, list.parts[i+1].start, "")
	}
}

// lineIndent is the blanks at the start of the line that offset is on.
func lineIndent(data []byte, offset int) string {
	line := data[bytes.LastIndexByte(data[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is one level of indentation, as the first member has it.
func unit(data []byte, root *node) string {
	if len(root.parts) > 0 {
		if indent := lineIndent(data, root.parts[0].nameStart); indent != "" {
			return indent
		}
	}
	return "  "
}

func splice(data []byte, start, end int, text string) []byte {
	return slices.Concat(data[:start], []byte(text), data[end:])
}

// quote is a JSON string as people write it: no escapes but those that JSON needs.
func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err) // callers have checked the UTF-8
	}
	return string(b)
}
