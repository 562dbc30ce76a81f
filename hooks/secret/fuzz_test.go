package secret

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
)

func FuzzScan(f *testing.F) {
	rnd := newRand(1)
	for _, id := range []string{"github-pat", "generic-api-key", "private-key", "curl-auth-user", "kubernetes-secret-yaml", "jwt", "facebook-access-token"} {
		text, _ := secretFor(f, id, rnd)
		f.Add("a.yaml", []byte(text))
		f.Add("a.go", bytes.Repeat([]byte(text+"\n"), 3))
	}
	f.Add("go.sum", []byte("m/key v1 h1:"))
	f.Add("x.p12", []byte("\n\n"))
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		found, err := New(1<<20).Scan(path, data)
		if err != nil && err != ErrBudget {
			t.Fatal(err)
		}
		last := 0
		for _, f := range found {
			if f.Start < last || f.Start >= f.End || f.End > len(data) {
				t.Fatalf("%v has bytes %d to %d of %d", f, f.Start, f.End, len(data))
			}
			last = f.Start
			line := 1 + bytes.Count(data[:f.Start], []byte("\n"))
			col := f.Start - bytes.LastIndexByte(data[:f.Start], '\n')
			if whole := f.Line == 0 && f.Col == 0; !whole && (f.Line != line || f.Col != col) {
				t.Fatalf("%v is at %d:%d", f, line, col)
			}
			if f.Fingerprint != sha256.Sum256(data[f.Start:f.End]) || !published(f, data) {
				t.Fatalf("%v has another secret's fingerprint", f)
			}
		}
	})
}

// FuzzParts looks for data in which the parts of it that a rule's regex sees do
// not tell what all of it would.
func FuzzParts(f *testing.F) {
	rnd := newRand(1)
	for i, r := range rules {
		if r.regex != "" {
			text, _ := secretFor(f, r.id, rnd)
			f.Add(i, []byte("x_"+text+" =\""+text))
		}
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		if i < 0 || i >= len(rules) || rules[i].regex == "" || len(data) > 4096 {
			t.Skip()
		}
		if strings.ContainsAny(string(data), "\u017f\u212a") {
			t.Skip() // see package shape
		}
		compare(t, &rules[i], data)
	})
}
