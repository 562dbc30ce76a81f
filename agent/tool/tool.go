// Package tool is what a model can do: read_file, write_file, bash, bootstrap
// and rollback (AGT-1), each with a JSON schema, confined and bounded.
//
// The file tools cannot leave the working tree or touch .git. That guards against mistakes
// only, because bash runs as the same user; the host's fence guards against malice (SBX).
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"git-ward/internal/diag"
)

// Tool is one tool of a model.
type Tool struct {
	Name        string
	Description string          // for the model
	Schema      json.RawMessage // JSON schema of the arguments
	params      []param
	run         func(ctx context.Context, args json.RawMessage) (Result, error)
}

// Result is what a call gives back to the model. A fault of the call is a Result
// with IsError, never an error of Go: the model can act on it.
type Result struct {
	Text    string
	IsError bool
	Missing bool // of bash: it ended as a shell does whose command is missing (Outcome.Missing)
}

// Box is where tools work, with their limits.
type Box struct {
	Dir        string        // the working tree
	State      string        // the agent's state directory, with logs/ and .signal/
	Env        []string      // complete environment of commands
	Timeout    time.Duration // of one bash command
	OutputSize int           // bytes of a command's output for the model
	WriteSize  int64         // bytes of one written file
	Repo       Repository    // for bootstrap and rollback
	Running    bool          // this process runs from Dir's branch
}

// Tools lists the tools of the box, always in the same order.
func (b *Box) Tools() []Tool {
	return []Tool{b.readFile(), b.writeFile(), b.bash(), b.bootstrap(), b.rollback()}
}

// Call runs the tool of that name. Its error ends the work: stop.Restart, or the
// end of the context.
func Call(ctx context.Context, tools []Tool, name string, args json.RawMessage) (Result, error) {
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		names := make([]string, len(tools))
		for i, t := range tools {
			names[i] = t.Name
		}
		return fail("there is no tool %q%s", name, didYouMean(name, names)), nil
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	return tools[i].call(ctx, args)
}

// param is one argument. Its schema and its check come from the same line, so that they agree.
type param struct {
	name, kind, doc string
	optional        bool
}

// define makes a tool whose arguments are decoded into a T and checked against params.
func define[T any](name, description string, params []param, run func(context.Context, T) (Result, error)) Tool {
	t := Tool{Name: name, Description: description, Schema: schema(params), params: params}
	t.run = func(ctx context.Context, raw json.RawMessage) (Result, error) {
		var args T
		if err := json.Unmarshal(raw, &args); err != nil {
			return fail("%s: the arguments do not fit: %v", name, err), nil
		}
		return run(ctx, args)
	}
	return t
}

// New makes a tool whose arguments run checks by itself: the schema says what they are.
func New(name, description string, schema json.RawMessage, run func(ctx context.Context, args json.RawMessage) (Result, error)) Tool {
	return Tool{Name: name, Description: description, Schema: schema, run: run}
}

func (t Tool) call(ctx context.Context, raw json.RawMessage) (Result, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	if t.params == nil {
		return t.run(ctx, raw)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return fail("%s: the arguments are not a JSON object: %v", t.Name, err), nil
	}
	known := make([]string, len(t.params))
	for i, p := range t.params {
		known[i] = p.name
		if v, ok := given[p.name]; !p.optional && (!ok || string(v) == "null") {
			return fail("%s: the argument %q is missing", t.Name, p.name), nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return fail("%s: there is no argument %q%s", t.Name, name, didYouMean(name, known)), nil
		}
	}
	return t.run(ctx, raw)
}

func schema(params []param) json.RawMessage {
	properties := make(map[string]any, len(params))
	required := []string{}
	for _, p := range params {
		property := map[string]any{"type": p.kind, "description": p.doc}
		if p.kind == "integer" {
			property["minimum"] = 0
		}
		properties[p.name] = property
		if !p.optional {
			required = append(required, p.name)
		}
	}
	raw, err := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	if err != nil {
		panic(err) // strings and lists of strings always encode
	}
	return raw
}

func fail(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

func didYouMean(word string, candidates []string) string {
	if near := diag.Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Sprintf("; there are %q", candidates)
}
