package fsm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// source are the members that the machines of seed 002 have (fsm.json, fdc_fsm.json), where
// Ward's have name, start and accept. They are read as well.
type source struct {
	Description   string         `json:"description"`
	States        []jsondoc.Text `json:"states"`
	Alphabet      []string       `json:"alphabet"`
	InitialState  jsondoc.Text   `json:"initial_state"`
	StartState    jsondoc.Text   `json:"start_state"`
	FinalStates   []jsondoc.Text `json:"final_states"`
	AcceptStates  []jsondoc.Text `json:"accept_states"`
	AcceptingOnes []jsondoc.Text `json:"accepting_states"`
}

// transition is one of a list, in Ward's words or the source's.
type transition struct {
	From jsondoc.Text `json:"from"`
	On   jsondoc.Text `json:"on"`
	To   jsondoc.Text `json:"to"`

	Source  jsondoc.Text `json:"source"`
	Trigger jsondoc.Text `json:"trigger"`
	Dest    jsondoc.Text `json:"dest"`
}

// transitions is a list, or the source's object {state: {symbol: state}}.
type transitions []transition

// UnmarshalJSONFrom reads either.
func (l *transitions) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' {
		if err := json.UnmarshalDecode(dec, (*[]transition)(l)); err != nil {
			return err
		}
		for i := range *l {
			t := &(*l)[i]
			for _, pair := range [][2]*jsondoc.Text{{&t.From, &t.Source}, {&t.On, &t.Trigger}, {&t.To, &t.Dest}} {
				if pair[0].Value == "" {
					*pair[0] = *pair[1]
				}
			}
		}
		return nil
	}
	return eachMember(dec, func(from jsondoc.Text) error {
		return eachMember(dec, func(on jsondoc.Text) error {
			t := transition{From: from, On: on}
			err := json.UnmarshalDecode(dec, &t.To)
			*l = append(*l, t)
			return err
		})
	})
}

// eachMember visits the members of an object; visit reads the value.
func eachMember(dec *jsontext.Decoder, visit func(name jsondoc.Text) error) error {
	if dec.PeekKind() != '{' {
		var object struct{}
		return json.UnmarshalDecode(dec, &object) // says so
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		var name jsondoc.Text
		if err := json.UnmarshalDecode(dec, &name); err != nil {
			return err
		}
		if err := visit(name); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// translate puts the source's members to where Ward's are. Its machines have the name of their
// file, and those that name no end accept where nothing leads on.
func (p *parser) translate(doc *document) {
	start := doc.InitialState
	if start.Value == "" {
		start = doc.StartState
	}
	if start.Value == "" {
		return
	}
	if doc.Start.Value == "" {
		doc.Start = start
	}
	if doc.Name.Value == "" {
		doc.Name = jsondoc.Text{Value: strings.TrimSuffix(path.Base(p.path), path.Ext(p.path)), Offset: start.Offset}
	}
	for _, list := range [][]jsondoc.Text{doc.FinalStates, doc.AcceptStates, doc.AcceptingOnes} {
		doc.Accept = append(doc.Accept, list...)
	}
	if len(doc.Accept) == 0 {
		doc.Accept = ends(doc)
	}
	for _, t := range doc.Transitions {
		for _, state := range []jsondoc.Text{t.From, t.To} {
			if len(doc.States) > 0 && !slices.ContainsFunc(doc.States, func(s jsondoc.Text) bool { return s.Value == state.Value }) {
				p.report(state.Offset, RuleState, fmt.Sprintf("%q is not one of the states", diag.Clean(state.Value)), `add it to "states", or name one of them`)
			}
		}
	}
}

// ends are the states that no transition leads on from, each once.
func ends(doc *document) (list []jsondoc.Text) {
	for _, t := range doc.Transitions {
		leads := func(u transition) bool { return u.From.Value == t.To.Value }
		same := func(s jsondoc.Text) bool { return s.Value == t.To.Value }
		if !slices.ContainsFunc(doc.Transitions, leads) && !slices.ContainsFunc(list, same) {
			list = append(list, t.To)
		}
	}
	return list
}
