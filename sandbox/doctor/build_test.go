package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestBuild: what the trial of the project's own build comes to, and what mends it.
func TestBuild(t *testing.T) {
	if got := Lines("", []string{"README.md", "go.mod", "Makefile", ""}); !slices.Equal(got, []string{"go build ./...", "make"}) {
		t.Errorf("%q", got)
	}
	for _, files := range [][]string{{"package.json"}, {"package.json", "package-lock.json"}} {
		if got := Lines("", files); len(got) != 1 || strings.HasPrefix(got[0], "npm ci") != (len(files) == 2) {
			t.Errorf("%q: %q", files, got)
		}
	}
	if got := Lines("make check", []string{"go.mod"}); !slices.Equal(got, []string{"make check"}) {
		t.Errorf("%q", got)
	}
	for _, c := range []struct{ says, fails, want string }{
		{`{"replays":[[{"line":"make","exit":0,"end":"exit"}]]}`, "", "fine make"},
		{`{"replays":[[{"line":"make","exit":2,"end":"exit"}]]}`, "", "warning make"},
		{`{"replays":[[{"line":"make","exit":127,"end":"exit"}]],"missing":{"line":"make","tool":"make"}}`, "", "missing make"},
		{`{"unfit":"there is no image"}`, "", "missing make"},
		{"", "podman is not there", "missing make"},
		{"no JSON", "", "missing make"},
	} {
		found := Build(t.Context(), []string{"make"}, func(context.Context, string) ([]byte, error) {
			if c.fails != "" {
				return nil, errors.New(c.fails)
			}
			return []byte(c.says), nil
		})
		if len(found) != 1 || fmt.Sprintf("%s %s", found[0].State, found[0].Thing) != c.want || (found[0].Mend == "") != (found[0].State == Fine) {
			t.Errorf("%s%s: %+v", c.says, c.fails, found)
		}
	}
	if found := Build(t.Context(), nil, nil); len(found) != 1 || found[0].State != Warning {
		t.Errorf("%+v", found)
	}
}
