package token

import (
	"strings"
	"testing"
	"time"
)

// No bound token is good for another id, principal or name, nor as a plain one,
// however the parts are cut.
func TestTokensBindTheirParts(t *testing.T) {
	key := []byte(strings.Repeat("k", MinKey))
	made := map[string]string{"plain": Plain(key, "20261121T090000Z-1")}
	for _, c := range [][3]string{
		{"20261121T090000Z-1", "pm", "pat"}, {"20261121T090000Z-1", "agent", "pat"}, {"20261121T090000Z-1", "pm", "pa"},
		{"20261121T090000Z-2", "pm", "pat"}, {"20261121T090000Z-1", "pmpat", ""}, {"20261121T090000Z-1", "", "pmpat"},
		{"20261121T090000Z-1pm", "", "pat"},
	} {
		made[strings.Join(c[:], "|")] = Bound(key, c[0], c[1], c[2])
	}
	for a, x := range made {
		for b, y := range made {
			if Equal(x, y) != (a == b) {
				t.Errorf("%s and %s: Equal is %v", a, b, Equal(x, y))
			}
		}
	}
	if Equal("zz", "zz") {
		t.Error("what is not hex equals something")
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"pat", "pat@example.org", "_svc", "a.b-c+d_e", "2fast", strings.Repeat("a", 128)} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "1000", "@pms", "-x", ".x", "a b", "a/b", "a:b", "a\nb", "a\x00b", "p\u0430t", "a\x1b[31m", "\xff",
		"a\u202eb", strings.Repeat("a", 129)} {
		err := CheckName(bad)
		if err == nil {
			t.Errorf("%q is taken for a name", bad)
		} else if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q: the error repeats it raw: %q", bad, err)
		}
	}
}

func TestNewIDIsOne(t *testing.T) {
	if id := NewID(time.Now()); CheckID(id) != nil || id == NewID(time.Now()) {
		t.Error(id)
	}
	for _, bad := range []string{"", "short", "../../etc/passwd", "20261121T090000Z/1", strings.Repeat("a", 81), "20261121T09\n000"} {
		if CheckID(bad) == nil {
			t.Errorf("%q is taken for a push id", bad)
		}
	}
}

// TestProved: an environment proves the name that its token is of, and no other.
func TestProved(t *testing.T) {
	key, other := []byte("0123456789abcdef0123456789abcdef"), []byte("fedcba9876543210fedcba9876543210")
	read := func(list []string, more ...string) map[string]string {
		env := map[string]string{}
		for _, v := range append(list, more...) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		return env
	}
	for _, c := range []struct {
		env  map[string]string
		name string
		ok   bool
	}{
		{read(Environ(key, "p1", "agent", "D-1")), "D-1", true},
		{read(Environ(key, "p1", "", "")), "", true},
		{read(Environ(key, "p1", "", ""), NameVar+"=D-2"), "D-2", false},
		{read(Environ(key, "p1", "agent", "D-1"), NameVar+"=D-2"), "D-2", false},
		{read(Environ(key, "p1", "agent", "D-1"), IDVar+"=p2"), "D-1", false},
		{read(Environ(other, "p1", "agent", "D-1")), "D-1", false},
		{read(nil), "", false},
	} {
		if name, ok := Proved(key, c.env); name != c.name || ok != c.ok {
			t.Errorf("%v: %q, %v", c.env, name, ok)
		}
	}
}
