package command

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"git-ward/protocols/review"
)

// docs/pm.md has each member of what is printed as JSON, and no other.
func TestMembersAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/pm.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(data), "\n## For programs\n")
	_, table, _ := strings.Cut(section, "\n| member")
	table, _, _ = strings.Cut(table, "\n\n") // what comes after it is no table of members
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(table, -1) {
		documented[m[1]] = true
	}
	if !found || len(documented) < 40 {
		t.Fatalf("only %d members are documented", len(documented))
	}
	printed := map[string]bool{}
	for _, v := range []any{review.Review{}, shownDirective{}, taken{}, dropDone{}, written{}} {
		members(reflect.TypeOf(v), printed)
	}
	for name := range printed {
		if !documented[name] {
			t.Errorf("docs/pm.md has no member %s", name)
		}
	}
	for name := range documented {
		if !printed[name] {
			t.Errorf("docs/pm.md has a member %s, which nothing prints", name)
		}
	}
}

// members collects the names of a type's members, those below them, too; a verdict is the
// note's (protocols/loop/schema), and findings are those of every command.
func members(t reflect.Type, into map[string]bool) {
	for slices.Contains([]reflect.Kind{reflect.Slice, reflect.Pointer}, t.Kind()) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[review.Review]().PkgPath() && t.PkgPath() != reflect.TypeFor[taken]().PkgPath() {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			into[name] = true
		}
		members(f.Type, into)
	}
}
