package charter

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value with its place. Checks need the place for their findings,
// edits need it to change these bytes and no others.
type node struct {
	kind       jsontext.Kind
	start, end int    // of the value, bytes from the start of the file
	text       string // of a string
	parts      []node // of an object or array

	// Of a member of an object:
	name      string
	nameStart int
}

// member is the member of an object with that name, nil when it has none.
func (n *node) member(name string) *node {
	for i := range n.parts {
		if n.kind == '{' && n.parts[i].name == name {
			return &n.parts[i]
		}
	}
	return nil
}

// maxDepth is deeper than any protocol.
const maxDepth = 16

// syntaxError is why bytes are not one JSON value, and where.
type syntaxError struct {
	offset        int
	message, hint string
}

// reader makes nodes. RFC 8259, strictly: no member twice, valid UTF-8, nothing
// after the value.
type reader struct {
	data []byte
	dec  *jsontext.Decoder
	end  int // of the last token
}

func readNode(data []byte) (node, *syntaxError) {
	r := &reader{data: data, dec: jsontext.NewDecoder(bytes.NewReader(data))}
	root, err := r.value(1)
	if err == nil {
		if rest := r.skip(r.end); rest < len(data) {
			return root, describe(data, rest, "there is something after the JSON value")
		}
		return root, nil
	}
	if fault, ok := errors.AsType[*syntaxError](err); ok {
		return root, fault
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		message := fmt.Sprintf("not valid JSON: %v", syntax.Err)
		if syntax.Err == nil {
			message = "not valid JSON"
		}
		return root, describe(data, min(int(syntax.ByteOffset), len(data)), message)
	}
	return root, describe(data, len(data), "the JSON value does not end: it is cut off")
}

func (e *syntaxError) Error() string { return e.message }

// What a merge leaves where two sides meet; people compile before they look.
const (
	conflictMark = "<<<<<<< "
	conflict     = "a merge has left a conflict here"
	conflictHint = "resolve it in this file, then git ward protocol compile"
)

// describe words a fault at an offset; what people write most is named.
func describe(data []byte, offset int, message string) *syntaxError {
	e := &syntaxError{offset, message, "check it with a JSON tool, such as python3 -m json.tool"}
	rest := data[offset:]
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		e.hint = "save it without a byte order mark"
	case bytes.HasPrefix(rest, []byte(conflictMark)):
		e.message, e.hint = conflict, conflictHint
	case bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*")) || bytes.HasPrefix(rest, []byte("#")):
		e.message = "JSON has no comments"
		e.hint = "put it into the description, or into a " + proseSuffix + " file beside this one"
	case strings.Contains(message, jsontext.ErrDuplicateName.Error()):
		e.hint = "give every member once"
	}
	return e
}

// value reads the next value. The error is a SyntacticError, a syntaxError, or
// io.EOF for an empty file.
func (r *reader) value(depth int) (node, error) {
	start := r.skip(r.end)
	if depth > maxDepth {
		return node{}, describe(r.data, start, fmt.Sprintf("more than %d levels deep", maxDepth))
	}
	token, err := r.token()
	if err != nil {
		return node{}, err
	}
	n := node{kind: token.Kind(), start: start, end: r.end}
	switch n.kind {
	case '"':
		n.text = token.String()
	case '{', '[':
		if n.parts, err = r.inside(n.kind, depth); err != nil {
			return n, err
		}
		n.end = r.end
	}
	return n, nil
}

// inside reads members or elements up to the closing bracket.
func (r *reader) inside(kind jsontext.Kind, depth int) (parts []node, err error) {
	for {
		if next := r.dec.PeekKind(); next == '}' || next == ']' {
			_, err = r.token()
			return parts, err
		}
		name, nameStart := "", r.skip(r.end)
		if kind == '{' {
			token, err := r.token()
			if err != nil {
				return nil, err
			}
			name = token.String()
		}
		part, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		part.name, part.nameStart = name, nameStart
		parts = append(parts, part)
	}
}

func (r *reader) token() (jsontext.Token, error) {
	token, err := r.dec.ReadToken()
	if err == nil {
		token = token.Clone()
		r.end = int(r.dec.InputOffset())
	}
	return token, err
}

// skip is where the next token starts: past blanks and punctuation.
func (r *reader) skip(offset int) int {
	for offset < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[offset]) >= 0 {
		offset++
	}
	return offset
}
