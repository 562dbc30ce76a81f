package deciding

import (
	"fmt"
	"testing"
)

// TestSameEachTime: what decides does not depend on the order in which a map gives its
// entries. A chain of scripts is within MaxLevel when it is entered in its middle, and
// beyond when it is entered at its beginning; and what a program on PATH does to its own
// PATH is nothing to its caller.
func TestSameEachTime(t *testing.T) {
	chain := map[string]string{"package.json": `{"scripts": {"all": "sh s0.sh", "part": "sh s6.sh"}}`}
	for i := range MaxLevel {
		chain[fmt.Sprintf("s%d.sh", i)] = fmt.Sprintf("sh s%d.sh\n", i+1)
	}
	path := map[string]string{"check.sh": "PATH=a\ntool\n", "a/tool": "PATH=b\n", "b/tool": "sh c/run.sh\n", "c/run.sh": "true\n"}
	for _, c := range []struct {
		name  string
		files map[string]string
		line  string
		path  string // of a program that the claim adds or changes
		role  Role
	}{
		{"npm's scripts", chain, "npm test", "program", Role{Decides: true}},
		{"directories of PATH", path, "sh check.sh", "c/run.sh", Role{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 100 { // either order of two comes up in these
				if role := roleOf(t, c.files, c.line, c.path); role != c.role {
					t.Fatalf("the role of %s is %+v, want %+v", c.path, role, c.role)
				}
			}
		})
	}
}

// roleOf is the role of a program that a claim adds to files of main's, or changes.
func roleOf(t *testing.T, files map[string]string, line, changed string) Role {
	t.Helper()
	base, have := Tree{}, Tree{}
	for name := range files {
		base[name] = "100644 " + name // a blob's id is its name
		have[name] = base[name]
	}
	have[changed] = "100755 changed"
	blobs := func(id string, _ int64) ([]byte, error) { return []byte(files[id]), nil }
	r, err := Read(base, have, blobs, []string{line}, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return r.Role(changed)
}
