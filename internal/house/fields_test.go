package house

import (
	"go/ast"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A structType is what this file's rule needs to know of a struct: its fields, and the
// module's structs that it embeds, each as "import/path.Name".
type structType struct {
	fields   []string
	embedded []string
}

// structsOf collects the structs that a package declares outside its tests.
func structsOf(t *testing.T, p goPackage, into map[string]structType) {
	t.Helper()
	for _, name := range p.GoFiles {
		file := parse(t, filepath.Join(p.Dir, name))
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				into[p.ImportPath+"."+spec.Name.Name] = readStruct(s, p.ImportPath, imported(file))
			}
			return true
		})
	}
}

// imported are the import paths of a file by the names that it uses for them.
func imported(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range file.Imports {
		to := strings.Trim(i.Path.Value, `"`)
		name := path.Base(to)
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = to
	}
	return names
}

func readStruct(s *ast.StructType, from string, imports map[string]string) structType {
	var out structType
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			out.fields = append(out.fields, name.Name)
		}
		if len(f.Names) > 0 {
			continue
		}
		embedded := f.Type
		if star, ok := embedded.(*ast.StarExpr); ok {
			embedded = star.X
		}
		switch e := embedded.(type) {
		case *ast.Ident:
			out.embedded = append(out.embedded, from+"."+e.Name)
		case *ast.SelectorExpr:
			if x, ok := e.X.(*ast.Ident); ok {
				out.embedded = append(out.embedded, imports[x.Name]+"."+e.Sel.Name)
			}
		}
	}
	return out
}

// reach lists the fields that a value of a struct has, its own and those of what it
// embeds, each as "Struct.field".
func reach(name string, all map[string]structType) (list []string) {
	for _, f := range all[name].fields {
		list = append(list, path.Base(name)+"."+f)
	}
	for _, e := range all[name].embedded {
		list = append(list, reach(e, all)...)
	}
	return list
}

// alike finds two fields of a struct that differ in nothing but case, "" for none.
func alike(name string, all map[string]structType) (one, other string) {
	seen := map[string]string{}
	for _, f := range reach(name, all) {
		short := f[strings.LastIndexByte(f, '.')+1:]
		before, found := seen[strings.ToLower(short)]
		if found && !strings.HasSuffix(before, "."+short) {
			return before, f
		}
		seen[strings.ToLower(short)] = f
	}
	return "", ""
}

// TestFieldsDifferByMoreThanCase: a reader takes o.State and o.state for one thing.
// Embedding hides that there are two.
func TestFieldsDifferByMoreThanCase(t *testing.T) {
	all := map[string]structType{}
	for _, p := range packages(t) {
		structsOf(t, p, all)
	}
	for name := range all {
		if one, other := alike(name, all); one != "" {
			t.Errorf("%s has the fields %s and %s", name, one, other)
		}
	}
}

// TestAlike holds the rule above to examples, so that it is known to find something.
func TestAlike(t *testing.T) {
	all := map[string]structType{
		"m/a.Options": {fields: []string{"State", "Once"}},
		"m/a.watcher": {fields: []string{"log", "state"}, embedded: []string{"m/a.Options"}},
		"m/a.plain":   {fields: []string{"log", "Log"}},
		"m/a.named":   {fields: []string{"opts", "state", "once2"}},
	}
	for name, want := range map[string]string{"m/a.watcher": "a.watcher.state a.Options.State", "m/a.plain": "a.plain.log a.plain.Log", "m/a.named": " ", "m/a.Options": " "} {
		if one, other := alike(name, all); one+" "+other != want {
			t.Errorf("%s: %s and %s, not %s", name, one, other, want)
		}
	}
}
