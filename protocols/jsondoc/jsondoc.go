// Package jsondoc reads JSON documents strictly and says where a fault is.
//
// It is not a JSON Schema: linking such a library costs the hook milliseconds at
// every start, and this decoder knows the byte of a fault, which a schema's error
// does not.
package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
)

// Decode reads one JSON value into the pointer v, strictly: no duplicate or unknown member, no
// other letter case, valid UTF-8. A fault is one finding of the given rule; lines count from
// firstLine.
func Decode(data []byte, v any, rule string, firstLine int) (diag.Diagnostic, bool) {
	err := json.Unmarshal(data, v, json.RejectUnknownMembers(true))
	if err == nil {
		return diag.Diagnostic{}, true
	}
	d := diag.Diagnostic{Rule: rule, Message: err.Error(), Hint: "check it with a JSON tool, such as python3 -m json.tool"}
	var offset int64
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.ByteOffset
		d.Message = fmt.Sprintf("not valid JSON%s: %v", within(syntax.JSONPointer), syntax.Err)
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		offset = semantic.ByteOffset
		members := memberNames(v, semantic.JSONPointer)
		d.Message = "unknown member " + string(semantic.JSONPointer)
		d.Hint = "the members there are: " + strings.Join(members, ", ")
		if near := diag.Nearest(semantic.JSONPointer.LastToken(), members); near != "" {
			d.Hint = fmt.Sprintf("did you mean %q?", near)
		}
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
		d.Message = fmt.Sprintf("a JSON %v where %s belongs%s", semantic.JSONKind, jsonName(semantic.GoType), within(semantic.JSONPointer))
		d.Hint = "write the kind of value that belongs there"
	}
	d.Line, d.Col = Place(data, offset, firstLine)
	return d, false
}

func within(p jsontext.Pointer) string {
	if p == "" {
		return ""
	}
	return " at " + string(p)
}

// Place turns a byte offset into a line, counted from firstLine, and a column.
func Place(data []byte, offset int64, firstLine int) (line, col int) {
	before := data[:min(max(int(offset), 0), len(data))]
	return firstLine + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// Text is a JSON string with its position, for findings after decoding.
type Text struct {
	Value  string
	Offset int64 // of its first quote
}

// UnmarshalJSONFrom reads a string.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	t.Offset = dec.InputOffset() - int64(len(raw))
	return json.Unmarshal(raw, &t.Value)
}

// MarshalJSONTo writes the string.
func (t Text) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.String(t.Value))
}

// jsonName is the JSON word for a Go type.
func jsonName(t reflect.Type) string {
	if t == nil {
		return "another kind"
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.Pointer:
		return jsonName(t.Elem())
	case reflect.String:
		return "a string"
	}
	return "a " + t.Kind().String()
}

// memberNames lists the members of the struct that holds pointer's last token.
func memberNames(v any, pointer jsontext.Pointer) []string {
	t := reflect.TypeOf(v).Elem()
	for token := range pointer.Parent().Tokens() {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			continue
		}
		for f := range t.Fields() {
			if f.Tag.Get("json") == token {
				t = f.Type
				break
			}
		}
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	var names []string
	if t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			names = append(names, f.Tag.Get("json"))
		}
	}
	return names
}
