package plan

import (
	"encoding/json"
	"sync"
)

// RuleSchema is the rule of findings about a plan written as JSON.
const RuleSchema = "plan/schema"

// object is a JSON Schema, or a part of one.
type object map[string]any

// Schema is the JSON Schema of a plan that FromJSON reads, for a tool that models call. It
// is small on purpose: what a step's tool takes is for the lint to say.
var Schema = sync.OnceValue(func() json.RawMessage {
	step := func(more object) object {
		members := object{
			"tool":      object{"type": "string", "enum": toolNames()},
			"arguments": object{"type": "string", "description": "one line: the path, the command, the pattern, the words, as the tool takes them"},
			"evidence":  object{"type": "array", "items": object{"type": "string"}, "description": "what the step rests on: files (src/a.go:12), symbols, commits, lessons, URLs"},
		}
		for name, member := range more {
			members[name] = member
		}
		return object{"type": "object", "properties": members, "required": []string{"tool"}, "additionalProperties": false}
	}
	text, _ := json.Marshal(object{ // of strings, which always marshal
		"type": "object",
		"properties": object{
			"fsm":   object{"type": "string", "description": "the machine: fdc (the default), research, or the path of one of the project's own"},
			"model": object{"type": "string", "enum": []string{"", "A", "B"}, "description": "the CSDC model; leave it out where none is asked for"},
			"steps": object{"type": "array", "minItems": 1, "items": step(object{
				"block": object{"type": "string", "description": "text of any lines, taken as it is: a file's contents, a merge diff, a command, a message"},
				"body":  object{"type": "array", "items": object{"$ref": "#/$defs/inner"}, "description": "of for_each_file only: the steps for each file, in which {file1} is the file"},
			})},
		},
		"required": []string{"steps"}, "additionalProperties": false,
		"$defs": object{"inner": step(object{"body": object{"type": "array", "items": object{"$ref": "#/$defs/inner"}}})},
	})
	return text
})
