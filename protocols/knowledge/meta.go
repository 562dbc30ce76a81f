// Package knowledge reads those documents of knowledge_core/ that no other package reads.
package knowledge

import (
	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// The paths of the documents.
const (
	Dir      = "knowledge_core/"
	MetaPath = Dir + "agent_meta.json"
)

// MaxMeta bounds agent_meta.json, in bytes.
const MaxMeta = 4 << 20

// Meta is agent_meta.json: who the agent is and what it cannot do (seed 002,
// orientation level 1).
type Meta struct {
	Name         *string   `json:"name"`
	Description  string    `json:"description"`
	Version      string    `json:"version"`
	Capabilities []string  `json:"capabilities"`
	Limitations  *[]string `json:"limitations"`
}

// ParseMeta reads agent_meta.json. Without a finding Name and Limitations are
// there.
func ParseMeta(data []byte) (*Meta, []diag.Diagnostic) {
	const rule = "meta/schema"
	m := new(Meta)
	if fault, ok := jsondoc.Decode(data, m, rule, 1); !ok {
		fault.Path = MetaPath
		return nil, []diag.Diagnostic{fault}
	}
	var found []diag.Diagnostic
	add := func(message, hint string) {
		found = append(found, diag.Diagnostic{Pos: diag.Pos{Path: MetaPath, Line: 1, Col: 1}, Rule: rule, Message: message, Hint: hint})
	}
	if m.Name == nil || *m.Name == "" {
		add("the member /name is missing or empty", `add "name": "..."`)
	}
	if m.Limitations == nil {
		add("the member /limitations is missing", `add "limitations": ["..."]`)
	}
	return m, found
}
