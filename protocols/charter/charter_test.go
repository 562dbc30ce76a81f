package charter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

// template are the protocols that every new ward repository begins with.
const template = "../../hooks/template/"

func readTree(t testing.TB, root string) (files []File) {
	t.Helper()
	paths, err := filepath.Glob(root + Dir + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue // other rooms' documents
		}
		files = append(files, File{strings.TrimPrefix(path, root), readFile(t, path)})
	}
	return files
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// cases are the sources of testdata/findings.txt with what each must find.
func cases(t testing.TB) (list [][3]string) {
	for c := range strings.SplitSeq(strings.TrimPrefix(string(readFile(t, "testdata/findings.txt")), "==== "), "\n==== ") {
		name, rest, _ := strings.Cut(c, "\n")
		source, want, ok := strings.Cut("\n"+rest, "\n---- want")
		if !ok {
			t.Fatalf("no want in %q", name)
		}
		list = append(list, [3]string{name, strings.TrimPrefix(source, "\n") + "\n", strings.TrimSpace(want)})
	}
	return list
}

func TestFindings(t *testing.T) {
	for _, c := range cases(t) {
		if c[0] == "empty file" {
			c[1] = ""
		}
		var got []string
		for _, d := range Check([]File{{"protocols/x.protocol.json", []byte(c[1])}}) {
			got = append(got, fmt.Sprintf("%d:%d: %s: %s", d.Line, d.Col, d.Rule, d.Message))
			if d.Hint == "" {
				t.Errorf("%s: no hint: %+v", c[0], d)
			}
		}
		if text := strings.Join(got, "\n"); text != c[2] {
			t.Errorf("%s:\n%s\nwant\n%s", c[0], text, c[2])
		}
	}
}

// TestTemplate holds the protocols that Ward ships to the user's own list of
// them: every protocol_id with every one of its rule_ids, and no other.
func TestTemplate(t *testing.T) {
	files := readTree(t, template)
	for _, d := range Check(files) {
		t.Errorf("%s: %s: %s", d.Pos, d.Rule, d.Message)
	}
	var got []string
	for _, f := range files {
		if IsProtocol(f.Path) {
			p, _ := Parse(f)
			for _, r := range p.Rules {
				got = append(got, p.ID+" "+r.ID)
			}
		}
	}
	var want []string
	for line := range strings.Lines(string(readFile(t, "testdata/seed002.txt"))) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSpace(line))
		}
	}
	if len(want) != 34 || !slices.Equal(got, want) {
		t.Errorf("the template has\n%s\nthe seed\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTemplateIsCompiled(t *testing.T) {
	want, err := Compile(readTree(t, template))
	if err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, template+Compiled); !bytes.Equal(got, want) {
		t.Errorf("%s%s is not compiled: git ward protocol compile hooks/template", template, Compiled)
	}
}

func TestCompile(t *testing.T) {
	files := []File{
		{"protocols/b.protocol.json", []byte("{\"b\":1}\n\n")},
		{"protocols/sub/a.protocol.md", []byte("\n# A\n")},
		{"protocols/a.protocol.json", []byte(`{"a":1}`)},
		{"protocols/uow/policy.toml", []byte("x")},
		{"elsewhere/x.protocol.md", []byte("x")},
		{"protocols/z.protocol.md", []byte("Z")},
	}
	got, err := Compile(files)
	want := header + "\n---\n\n# A\n\n---\n\nZ\n\n---\n\n```json\n{\"a\":1}\n```\n\n---\n\n```json\n{\"b\":1}\n```\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	slices.Reverse(files)
	if again, _ := Compile(files); !bytes.Equal(again, got) {
		t.Error("the order of files matters")
	}
	if _, err := Compile([]File{{"protocols/x.protocol.md", make([]byte, MaxTotal+1)}}); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// TestEdits are whole files before and after: nothing but the value may change.
func TestEdits(t *testing.T) {
	const rules = `"rules": [{"rule_id":"r","description":"old","enforcement":"e"}]`
	add, remove := Edit{Op: AddTool, Protocol: "p", Tool: "t"}, Edit{Op: RemoveTool, Protocol: "p", Tool: "t"}
	update := Edit{Op: UpdateRule, Protocol: "p", Rule: "r", Text: "it's \"new\" <&>\nü"}
	head := "{\n\t\"description\": \"d\",\n\t\"protocol_id\": \"p\",\n\t"
	for _, c := range []struct {
		edit          Edit
		before, after string
	}{
		{add, head + rules + "\n}\n", head + rules + ",\n\t\"associated_tools\": [\n\t\t\"t\"\n\t]\n}\n"},
		{add, head + rules + ",\n\t\"associated_tools\": []\n}", head + rules + ",\n\t\"associated_tools\": [\n\t\t\"t\"\n\t]\n}"},
		{add, head + rules + ",\n\t\"associated_tools\": [\n\t\t\"a\"\n\t]\n}", head + rules + ",\n\t\"associated_tools\": [\n\t\t\"a\",\n\t\t\"t\"\n\t]\n}"},
		{add, head + `"associated_tools": ["a" , "b"], ` + rules + "}", head + `"associated_tools": ["a" , "b", "t"], ` + rules + "}"},
		{add, `{"description":"d","protocol_id":"p",` + strings.ReplaceAll(rules, " ", "") + `}`, `{"description":"d","protocol_id":"p",` + strings.ReplaceAll(rules, " ", "") + `,"associated_tools":["t"]}`},
		{add, `{"description":"d","protocol_id":"p","associated_tools":[],` + rules + `}`, `{"description":"d","protocol_id":"p","associated_tools":["t"],` + rules + `}`},
		{remove, head + rules + ",\n\t\"associated_tools\": [\n\t\t\"t\"\n\t]\n}", head + rules + ",\n\t\"associated_tools\": []\n}"},
		{remove, head + `"associated_tools": ["a", "t"], ` + rules + "}", head + `"associated_tools": ["a"], ` + rules + "}"},
		{remove, head + "\"associated_tools\": [\n\"t\",\n  \"b\"], " + rules + "}", head + "\"associated_tools\": [\n\"b\"], " + rules + "}"},
		{update, head + rules + "}", head + `"rules": [{"rule_id":"r","description":"it's \"new\" <&>\nü","enforcement":"e"}]` + "}"},
	} {
		got, err := c.edit.Apply([]File{{"protocols/p.protocol.json", []byte(c.before)}})
		if err != nil || string(got.Data) != c.after {
			t.Errorf("%s: %v\n%s\nbecame\n%s\nnot\n%s", c.edit.Op, err, c.before, got.Data, c.after)
		}
		_, err = c.edit.Apply([]File{{"protocols/p.protocol.json", []byte(c.after)}})
		if errors.Is(err, ErrUnchanged) == (c.edit.Op == RemoveTool) || err == nil {
			t.Errorf("%s again: %v", c.edit.Op, err)
		}
	}
}

func TestEditsThatCannotBe(t *testing.T) {
	files := readTree(t, template)
	broken := []File{{"protocols/x.protocol.json", []byte(`{"protocol_id":"p","description":"","rules":[]}`)}}
	for _, c := range []struct {
		edit  Edit
		files []File
		want  string
	}{
		{Edit{Op: AddTool, Protocol: "plan-registry-01", Tool: "t"}, files, `the nearest is "plan-registry-001"`},
		{Edit{Op: AddTool, Protocol: "plan-registry-001", Tool: "a\nb"}, files, "is not the name of a tool"},
		{Edit{Op: AddTool, Protocol: "plan-registry-001", Tool: "\xff"}, files, "is not the name of a tool"},
		{Edit{Op: RemoveTool, Protocol: "plan-registry-001", Tool: "git ward plan regster"}, files, `the nearest is "git ward plan register"`},
		{Edit{Op: UpdateRule, Protocol: "plan-registry-001", Rule: "registry-defnition", Text: "x"}, files, `the nearest is "registry-definition"`},
		{Edit{Op: UpdateRule, Protocol: "plan-registry-001", Rule: "registry-definition", Text: " "}, files, "is empty"},
		{Edit{Op: UpdateRule, Protocol: "plan-registry-001", Rule: "registry-definition", Text: "\u202e"}, files, "nobody sees"},
		{Edit{Op: AddTool, Protocol: "p", Tool: "t"}, broken, "protocols/x.protocol.json:1:34: description is empty"},
		{Edit{Op: AddTool, Protocol: "", Tool: "t"}, broken, `there is no protocol ""`},
		{Edit{Op: "drop", Protocol: "plan-registry-001", Tool: "t"}, files, `"drop" is not an edit`},
	} {
		if _, err := c.edit.Apply(c.files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.edit, err, c.want)
		}
	}
}

func TestProse(t *testing.T) {
	for source, want := range map[string]string{
		"# Sound\n\n```go\nx := `y`\n```\n~~~~\n```\n~~~~~\n": "",
		"text\n   ```\ncode\n    ```\n":                       "2:1 the code fence ``` is not closed",
		"a\r\n":                                               "1:2 the line ends in CR LF",
		"a\nb\xff\n":                                          "2:1 the line is not valid UTF-8",
		"a\u202eb":                                            "1:1 the line holds the character U+202E",
		"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n```\n<<<<<<< SEARCH\n```\n": "2:1 a merge has left a conflict here",
		"``` not `a fence\n":      "",
		"    ``` indented code\n": "",
	} {
		got := ""
		for _, d := range CheckProse(File{"protocols/x.protocol.md", []byte(source)}) {
			got += fmt.Sprintf("%d:%d %s", d.Line, d.Col, d.Message)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", source, got, want)
		}
	}
	if found := CheckProse(File{"protocols/x.protocol.md", make([]byte, MaxBytes+1)}); len(found) != 1 || found[0].Rule != "protocol/size" {
		t.Error(found)
	}
}

// FuzzParse: no bytes make it panic or point outside the file, and an edit that
// is undone gives the same bytes back.
func FuzzParse(f *testing.F) {
	for _, file := range readTree(f, template) {
		f.Add(file.Data)
	}
	for _, c := range cases(f) {
		f.Add([]byte(c[1]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := File{"protocols/x.protocol.json", data}
		p, found := Parse(file)
		for _, d := range append(found, Check([]File{file, {"protocols/y.protocol.json", data}})...) {
			if d.Line < 0 || d.Line > 1+bytes.Count(data, []byte("\n")) || d.Message == "" || d.Hint == "" || d.Rule == "" {
				t.Fatalf("%+v", d)
			}
		}
		CheckProse(File{"protocols/x.protocol.md", data})
		if diag.HasErrors(found) {
			return
		}
		add, remove := Edit{Op: AddTool, Protocol: p.ID, Tool: "a new tool"}, Edit{Op: RemoveTool, Protocol: p.ID, Tool: "a new tool"}
		with, err := add.Apply([]File{file})
		if errors.Is(err, ErrUnchanged) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if q, found := Parse(with); diag.HasErrors(found) || !slices.Equal(q.Tools, append(p.Tools, "a new tool")) {
			t.Fatalf("%q became %q: %v", data, with.Data, found)
		}
		without, err := remove.Apply([]File{with})
		if err != nil || len(p.Tools) > 0 && !bytes.Equal(without.Data, data) {
			t.Fatalf("%v: %q came back as %q", err, data, without.Data)
		}
		for _, r := range p.Rules {
			there := Edit{Op: UpdateRule, Protocol: p.ID, Rule: r.ID, Text: "another text"}
			changed, err := there.Apply([]File{file})
			if errors.Is(err, ErrUnchanged) {
				continue
			}
			there.Text = r.Description
			back, err2 := there.Apply([]File{changed})
			if q, _ := Parse(back); err != nil || err2 != nil || !slices.Equal(q.Rules, p.Rules) {
				t.Fatalf("%v, %v: %q", err, err2, back.Data)
			}
		}
	})
}
