package decimal

import (
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"
)

func TestTraps(t *testing.T) {
	for _, s := range []string{"", "null", "NaN", "nan", "Inf", "-Infinity", "007", "00", "-1", "+1", "-0", " 1", "1 ", "1\n", ".5", "5.",
		"1e", "1e+", "1e1000", "0x10", "1_000", "1,5", "1e-1e2", "1.2.3", "٣", strings.Repeat("9", MaxLen+1)} {
		if d, err := Parse(s); err == nil {
			t.Errorf("%q is read as %v", s, d)
		} else if !d.IsNull() || d.Zero() {
			t.Errorf("%q: what cannot be read must be null, not zero", s)
		}
	}
	for _, s := range []string{"0", "0.0", "0e9", "1e400", "1E-999", "0.30000000000000004", strings.Repeat("9", MaxLen)} {
		d, err := Parse(s)
		if err != nil || d.String() != s {
			t.Errorf("%q: %v, %v", s, d, err)
		}
	}
}

func parse(t *testing.T, s string) Decimal {
	t.Helper()
	d, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCompare(t *testing.T) {
	var null Decimal
	if null.Less(parse(t, "1")) || parse(t, "1").Less(null) || null.Equal(null) || null.Zero() {
		t.Error("null compares")
	}
	for _, c := range []struct {
		a, b string
		less bool
	}{
		{"0.3", "0.30000000000000004", true}, // equal as floats are not, nor are these
		{"1e400", "1e401", true}, {"1e-999", "1e-998", true},
		{"1", "1.0", false}, {"1e-10", "0.0000000001", false}, {"0", "0e5", false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if a.Less(b) != c.less || b.Less(a) || a.Equal(b) == c.less {
			t.Errorf("%s and %s", c.a, c.b)
		}
	}
	if got := parse(t, "0.5").Portion(parse(t, "2"), 8); got != 2 {
		t.Error(got)
	}
}

// Whatever is accepted compares as a decimal library says, and is printed as it
// was read.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "1e-10", "12.50", "1e400", "007", "NaN", "-1", "9e999"} {
		f.Add(s, "0.25")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := Parse(a)
		y, errY := Parse(b)
		if errX != nil || errY != nil {
			return
		}
		if x.String() != a {
			t.Fatalf("%q became %q", a, x)
		}
		p, _, err1 := apd.NewFromString(a)
		q, _, err2 := apd.NewFromString(b)
		if err1 != nil || err2 != nil {
			t.Fatalf("apd does not read %q or %q", a, b)
		}
		if x.Less(y) != (p.Cmp(q) < 0) || x.Equal(y) != (p.Cmp(q) == 0) {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
