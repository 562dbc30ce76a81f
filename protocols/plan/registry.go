package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
	"git-ward/protocols/jsondoc"
)

// RegistryPath is where the registry is (002, rule registry-definition).
const RegistryPath = "knowledge_core/plan_registry.json"

// MaxRegistryBytes bounds it.
const MaxRegistryBytes = 4 << 20

// RuleRegistry is the form of the registry, RuleTarget what it points to.
const (
	RuleRegistry = "registry/schema"
	RuleTarget   = "registry/target"
)

// Entry is a line of the registry: a name and the path of its plan.
type Entry struct {
	Name string
	Path string
	Line int // of the name; 0 when the entry was not read
}

// Registry maps names to plans (call_plan). Entries keep the order in which they
// are written.
type Registry struct{ Entries []Entry }

// Lookup is the path of a registered plan.
func (r *Registry) Lookup(name string) (path string, ok bool) {
	i := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return "", false
	}
	return r.Entries[i].Path, true
}

// Names lists the registered names.
func (r *Registry) Names() []string {
	names := make([]string, len(r.Entries))
	for i, e := range r.Entries {
		names[i] = e.Name
	}
	return names
}

// Set adds a name, or changes its path. The error says what is wrong with name or path.
func (r *Registry) Set(name, path string) error {
	if bad := badEntry(name, path); bad != "" {
		return errors.New(bad)
	}
	if i := slices.IndexFunc(r.Entries, func(e Entry) bool { return e.Name == name }); i >= 0 {
		r.Entries[i].Path = path
		return nil
	}
	r.Entries = append(r.Entries, Entry{Name: name, Path: path})
	slices.SortFunc(r.Entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// Remove takes a name out and reports whether it was there.
func (r *Registry) Remove(name string) bool {
	n := len(r.Entries)
	r.Entries = slices.DeleteFunc(r.Entries, func(e Entry) bool { return e.Name == name })
	return len(r.Entries) < n
}

// Format prints the registry, one entry a line.
func (r *Registry) Format() []byte {
	if len(r.Entries) == 0 {
		return []byte("{}\n")
	}
	var b strings.Builder
	b.WriteString("{\n")
	for i, e := range r.Entries {
		name, _ := jsontext.AppendQuote(nil, e.Name)
		path, _ := jsontext.AppendQuote(nil, e.Path)
		end := ",\n"
		if i == len(r.Entries)-1 {
			end = "\n"
		}
		b.WriteString("  " + string(name) + ": " + string(path) + end)
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// registryDocument reads an object of strings in order, with the places of the
// names.
type registryDocument struct {
	entries []Entry
	offsets []int64
	kinds   []jsontext.Kind // of what stands where the path belongs
}

func (d *registryDocument) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if kind := dec.PeekKind(); kind != '{' {
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return &json.SemanticError{JSONKind: kind, GoType: reflect.TypeFor[registryDocument]()}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		at := dec.InputOffset() - int64(len(raw))
		var e Entry
		if err := json.Unmarshal(raw, &e.Name); err != nil {
			return err
		}
		kind := dec.PeekKind()
		if kind == '"' {
			err = json.UnmarshalDecode(dec, &e.Path)
		} else {
			err = dec.SkipValue() // a finding about the entry, not the end of reading
		}
		if err != nil {
			return err
		}
		d.entries = append(d.entries, e)
		d.offsets = append(d.offsets, at)
		d.kinds = append(d.kinds, kind)
	}
	_, err := dec.ReadToken()
	return err
}

// ParseRegistry reads a registry; nil data is an empty one. All findings come
// back; entries with a fault are left out. Whether the plans are there is
// CheckTargets' to say.
func ParseRegistry(data []byte) (*Registry, []diag.Diagnostic) {
	r := new(Registry)
	if data == nil {
		return r, nil
	}
	if len(data) > MaxRegistryBytes {
		return r, []diag.Diagnostic{{Pos: diag.Pos{Path: RegistryPath}, Rule: RuleRegistry, Severity: diag.Error,
			Message: fmt.Sprintf("the registry has %d bytes, more than %d", len(data), MaxRegistryBytes), Hint: "deregister what is not used"}}
	}
	var doc registryDocument
	if d, ok := jsondoc.Decode(data, &doc, RuleRegistry, 1); !ok {
		d.Path, d.Severity = RegistryPath, diag.Error
		return r, []diag.Diagnostic{d}
	}
	var found []diag.Diagnostic
	for i, e := range doc.entries {
		line, col := jsondoc.Place(data, doc.offsets[i], 1)
		bad := badEntry(e.Name, e.Path)
		if kind := doc.kinds[i]; kind != '"' {
			bad = fmt.Sprintf("%q: a JSON %v where the path belongs", cut(diag.Clean(e.Name)), kind)
		}
		if bad != "" {
			found = append(found, diag.Diagnostic{Pos: diag.Pos{Path: RegistryPath, Line: line, Col: col}, Rule: RuleRegistry, Severity: diag.Error,
				Message: bad, Hint: "write \"name\": \"path\", the path relative to the top of the tree, such as plans/common/tests.txt"})
			continue
		}
		e.Line = line
		r.Entries = append(r.Entries, e)
	}
	return r, found
}

// badEntry says what is wrong with a name or its path, or "".
func badEntry(name, path string) string {
	if !IsName(name) {
		return fmt.Sprintf("%q is not a plan name: letters, digits, dots, dashes and underscores", cut(diag.Clean(name)))
	}
	if bad := BadPath(path); bad != "" {
		return fmt.Sprintf("%q: the path %q %s", name, cut(diag.Clean(path)), bad)
	}
	if path == RegistryPath {
		return fmt.Sprintf("%q points at the registry itself", name)
	}
	return ""
}

// CheckTargets reports the entries whose plan is not in the tree.
func CheckTargets(r *Registry, tree Tree) ([]diag.Diagnostic, error) {
	var found []diag.Diagnostic
	for _, e := range r.Entries {
		kind, err := tree.Kind(e.Path)
		if err != nil {
			return nil, err
		}
		if kind == File {
			continue
		}
		found = append(found, diag.Diagnostic{Pos: diag.Pos{Path: RegistryPath, Line: e.Line, Col: min(e.Line, 1)}, Rule: RuleTarget, Severity: diag.Error,
			Message: fmt.Sprintf("%q: there is no file %s", e.Name, e.Path), Hint: "add the plan, or git ward plan register --remove " + e.Name})
	}
	return found, nil
}
