// Package schema holds the forms of the loop's evidence files as JSON Schema
// (draft 2020-12), and validates against them. Programs that start often do not
// link it: hooks read the same files with loop.Place.Check, and a test holds the
// two to each other.
package schema

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed *.json
var files embed.FS

// Names lists the schemas: an evidence file's name without its ending, and
// "verdict" for a line of refs/notes/certificates.
func Names() []string {
	return []string{"plan", "cnf_capsule", "artifacts", "manifest", "certificate", "budget_log", "halting_report", "verdict"}
}

// Source is a schema's text; ok is false for another name.
func Source(name string) (text []byte, ok bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	text, err := files.ReadFile(name + ".json")
	return text, err == nil
}

var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(none{}) // nothing is ever fetched
	all := map[string]*jsonschema.Schema{}
	for _, name := range Names() {
		text, _ := Source(name)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		url := base + name + ".json"
		if err := compiler.AddResource(url, doc); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		if all[name], err = compiler.Compile(url); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return all, nil
})

// base begins every schema's $id; it names nothing that could be fetched.
const base = "https://git-ward.invalid/loop/"

type none struct{}

func (none) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not fetched", url) }

// Validate holds one JSON document to a schema. The error names every place that
// does not fit.
func Validate(name string, data []byte) error {
	all, err := compiled()
	if err != nil {
		return err
	}
	s := all[name]
	if s == nil {
		return fmt.Errorf("there is no schema %q; there are %s", name, strings.Join(Names(), ", "))
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// For is the schema of an evidence file, by its path; ok is false where none is.
func For(file string) (name string, ok bool) {
	name = strings.TrimSuffix(path.Base(file), ".json")
	return name, strings.HasSuffix(file, ".json") && slices.Contains(Names(), name) && name != "verdict"
}
