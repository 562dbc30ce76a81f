package hooks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"git-ward/internal/configtest"
	"io"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jsonLines is `jsonl FILE ...`: it rewrites files of JSON values, set out for people
// to read, as one value a line.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		var out bytes.Buffer
		for dec := json.NewDecoder(strings.NewReader(ts.ReadFile(name))); ; {
			var value json.RawMessage
			err := dec.Decode(&value)
			if errors.Is(err, io.EOF) {
				break
			}
			ts.Check(err)
			ts.Check(json.Compact(&out, value))
			out.WriteByte('\n')
		}
		ts.Check(os.WriteFile(ts.MkAbs(name), out.Bytes(), 0o644))
	}
}

// answers is `answers FILE DIRECTIVE PATH=FILE ...`: it appends to a script of the
// model `script` one answer to a directive that writes files of the script's, and
// the answer "done".
func answers(ts *testscript.TestScript, neg bool, args []string) {
	type call struct {
		Name string            `json:"name"`
		Args map[string]string `json:"args"`
	}
	type answer struct {
		Directive string `json:"directive"`
		Calls     []call `json:"calls,omitempty"`
		Text      string `json:"text,omitempty"`
	}
	write := answer{Directive: args[1]}
	for _, arg := range args[2:] {
		path, file, _ := strings.Cut(arg, "=")
		write.Calls = append(write.Calls, call{"write_file", map[string]string{"path": path, "content": ts.ReadFile(file)}})
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	defer f.Close()
	lines := json.NewEncoder(f)
	ts.Check(lines.Encode(write))
	ts.Check(lines.Encode(answer{Directive: args[1], Text: "done"}))
}

// hostSetting is `setting KEY = VALUE`: it changes a line of the host's config.toml.
func hostSetting(ts *testscript.TestScript, neg bool, args []string) {
	file := ts.MkAbs("../remote.git/ward/config.toml")
	data, err := os.ReadFile(file)
	ts.Check(err)
	data, err = configtest.Settings(data, strings.Join(args, " "))
	ts.Check(err)
	ts.Check(os.WriteFile(file, data, 0o600))
}
