package tool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newBox is a box with a working tree and a state directory of its own.
func newBox(t *testing.T) *Box {
	t.Helper()
	b := &Box{
		Dir: filepath.Join(t.TempDir(), "tree"), State: t.TempDir(),
		Env:     []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"},
		Timeout: time.Hour, OutputSize: 1000, WriteSize: 1000, Repo: &fakeRepo{},
	}
	if err := os.MkdirAll(filepath.Join(b.Dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

func call(t *testing.T, b *Box, name, args string) Result {
	t.Helper()
	r, err := Call(t.Context(), b.Tools(), name, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	return r
}

// TestArguments: what does not fit is a result that says what would.
func TestArguments(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct{ tool, args, want string }{
		{"read_fil", `{}`, `there is no tool "read_fil"; did you mean "read_file"?`},
		{"xyzzyxyzzy", `{}`, `there is no tool "xyzzyxyzzy"; there are ["read_file" "write_file" "bash" "bootstrap" "rollback"]`},
		{"read_file", ``, `read_file: the argument "path" is missing`},
		{"read_file", `null`, `read_file: the argument "path" is missing`},
		{"read_file", `{"path":null}`, `read_file: the argument "path" is missing`},
		{"read_file", `[]`, `read_file: the arguments are not a JSON object: `},
		{"read_file", `{"path":1}`, `read_file: the arguments do not fit: `},
		{"read_file", `{"path":"x","ofset":1}`, `read_file: there is no argument "ofset"; did you mean "offset"?`},
		{"read_file", `{"path":"x","offset":-1}`, `offset and limit count from 0`},
		{"write_file", `{"path":"x"}`, `write_file: the argument "content" is missing`},
		{"write_file", `{"path":"x","Content":"y","content":"z"}`, `write_file: there is no argument "Content"; did you mean "content"?`},
		{"bash", `{"command":"a\u0000b"}`, `the command holds a NUL byte`},
	} {
		if r := call(t, b, c.tool, c.args); !r.IsError || !strings.HasPrefix(r.Text, c.want) {
			t.Errorf("%s %s: %+v, want %q", c.tool, c.args, r, c.want)
		}
	}
}

// TestSchemas: every tool says what it takes, as JSON schema.
func TestSchemas(t *testing.T) {
	var got []string
	for _, tool := range newBox(t).Tools() {
		var s struct {
			Type                 string
			Properties           map[string]struct{ Type, Description string }
			Required             []string
			AdditionalProperties *bool
		}
		if err := json.Unmarshal(tool.Schema, &s); err != nil || s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("%s: %s (%v)", tool.Name, tool.Schema, err)
		}
		for name, p := range s.Properties {
			if p.Description == "" || (p.Type != "string" && p.Type != "integer") {
				t.Errorf("%s: %s: %+v", tool.Name, name, p)
			}
		}
		got = append(got, tool.Name+"("+strings.Join(s.Required, ", ")+")")
	}
	if want := "read_file(path) write_file(path, content) bash(command) bootstrap(branch) rollback(ref)"; strings.Join(got, " ") != want {
		t.Errorf("tools are %s", got)
	}
}

func TestEndOfContextEndsTheWork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Call(ctx, newBox(t).Tools(), "read_file", json.RawMessage(`{"path":"x"}`)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
