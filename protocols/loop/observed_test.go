package loop

import (
	"reflect"
	"slices"
	"testing"
)

// TestWritten: each text of what was seen of a claim is written anew, in fields that come later, too.
func TestWritten(t *testing.T) {
	var o Observed
	fields := reflect.ValueOf(&o).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i).Addr().Interface().(type) {
		case *string:
			*f = "raw"
		case *[]string:
			*f = []string{"raw", "raw"}
		case *[]Left:
			*f = []Left{{Path: "raw"}}
		case *int:
			*f = 7
		default:
			t.Fatalf("%T: what becomes of it?", f)
		}
	}
	written := o.Written(func(string) string { return "path" }, func(string) string { return "text" })
	fields = reflect.ValueOf(written)
	for i := range fields.NumField() {
		name, raw := fields.Type().Field(i).Name, false
		switch f := fields.Field(i).Interface().(type) {
		case string:
			raw = f == "raw"
		case []string:
			raw = len(f) != 2 || slices.Contains(f, "raw")
		case []Left:
			raw = len(f) != 1 || f[0].Path != "path"
		case int:
			raw = f != 7
		}
		if raw {
			t.Errorf("%s: %v", name, fields.Field(i))
		}
	}
	if o.Lost[0] != "raw" {
		t.Error("it wrote to what it was given")
	}
}

// TestLines: a doubt has a line for each of what it is about.
func TestLines(t *testing.T) {
	v := Verdict{Observed: Observed{Lost: []string{"TestA", "TestB"}, RewrittenNot: "x"}}
	var lines []string
	for _, d := range v.Against() {
		lines = append(lines, d.Lines()...)
	}
	if want := []string{"lost test: TestA", "lost test: TestB", "what the commands rewrote is not known: x"}; !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}
