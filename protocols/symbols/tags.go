package symbols

import (
	"strings"

	"github.com/go-json-experiment/json"
)

// tagsOnly are languages that only ctags reads.
var tagsOnly = []language{
	only("Ruby", ".rb", ".rake"), only("PHP", ".php"), only("C#", ".cs"), only("Kotlin", ".kt", ".kts"), only("Perl", ".pl", ".pm"),
	only("Lua", ".lua"), only("Haskell", ".hs"), only("Elixir", ".ex", ".exs"), only("Erlang", ".erl"), only("Clojure", ".clj"), only("OCaml", ".ml", ".mli"),
	only("Julia", ".jl"), only("R", ".r"), only("SQL", ".sql"), only("Protobuf", ".proto"), only("D", ".d"), only("Ada", ".adb", ".ads"),
	only("Fortran", ".f90", ".f"), only("Elm", ".elm"), only("Emacs Lisp", ".el"), only("PowerShell", ".ps1"), only("Tcl", ".tcl"), only("Objective-C", ".m"),
	only("Verilog", ".v", ".sv"), only("VHDL", ".vhd"), only("CMake", ".cmake"),
}

func only(name string, suffixes ...string) language {
	return language{name: name, suffixes: suffixes, how: "not read: it needs universal-ctags", tags: true}
}

// Taggable reports whether ctags is to read a file.
func Taggable(p string) bool {
	lang := languageOf(p)
	return lang != nil && lang.tags && !strings.ContainsAny(p, "\n\r")
}

// TagOptions are ctags' for what ParseTag reads. Without the first it would read options,
// which name programs, from the tree.
func TagOptions() []string {
	return []string{"--options=NONE", "--output-format=json", "--fields=+nKsl", "--links=no", "--sort=no", "-L", "-", "-f", "-"}
}

// tagKinds are ctags' kinds and what they are here; any other is a part of something.
var tagKinds = map[string]string{
	"function": "func", "func": "func", "subroutine": "func", "procedure": "func", "generator": "func", "macro": "const", "constant": "const", "enumerator": "const", "const": "const",
	"method": "method", "getter": "method", "setter": "method", "singletonMethod": "method", "constructor": "method",
	"class": "type", "struct": "type", "interface": "type", "enum": "type", "typedef": "type", "type": "type", "alias": "type", "union": "type", "trait": "type", "record": "type", "object": "type",
	"module": "type", "message": "type", "service": "type", "table": "type", "view": "type", "implementation": "type",
	"variable": "var", "static": "var", "rpc": "method",
}

// ParseTag reads a line that ctags printed; false is for what is no declaration.
func ParseTag(line []byte) (p string, s Symbol, ok bool) {
	var t struct {
		Kind  string `json:"_type"`
		Name  string `json:"name"`
		Path  string `json:"path"`
		Line  int    `json:"line"`
		What  string `json:"kind"`
		Scope string `json:"scope"`
		Of    string `json:"scopeKind"`
	}
	if json.Unmarshal(line, &t) != nil || t.Kind != "tag" || t.Line < 1 || t.Name == "" {
		return "", s, false
	}
	kind, known := tagKinds[t.What]
	if !known || strings.HasPrefix(t.Name, "__anon") || strings.HasPrefix(t.Name, "anonymous") {
		return "", s, false
	}
	if of := tagKinds[t.Of]; t.Scope != "" && (of == "type" || of == "func" || of == "method") {
		if kind == "var" && of != "type" {
			return "", s, false // of a function
		}
		t.Name = strings.NewReplacer("::", ".", "\\", ".").Replace(t.Scope) + "." + t.Name
		if kind == "func" && of == "type" {
			kind = "method"
		}
	}
	return t.Path, Symbol{Name: valid(t.Name), Kind: kind, Line: t.Line}, true
}
