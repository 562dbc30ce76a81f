package comms

import (
	"strings"
	"testing"
)

func TestSet(t *testing.T) {
	var s Set
	for _, id := range []int{7, 2, 4, 1, 3, 3, 9, MaxID} {
		if err := s.Add(id); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.String(); got != "1-4,7,9,999999999" || s.Max() != MaxID {
		t.Errorf("got %s, %d", got, s.Max())
	}
	copied := s
	if err := copied.Add(8); err != nil || copied.String() != "1-4,7-9,999999999" || s.Has(8) {
		t.Errorf("got %s and %s, %v", copied, s, err)
	}
	for _, id := range []int{0, -1, MaxID + 1} {
		if s.Add(id) == nil || s.Has(id) {
			t.Errorf("%d is in the set", id)
		}
	}
	for id := 11; id < 11+4*maxSpans; id += 2 {
		if s.Add(id) != nil {
			return
		}
	}
	t.Error("a set grows without bound")
}

func TestParseSetRefuses(t *testing.T) {
	for _, text := range []string{",", "1,", "0", "01", "1-", "-1", "2-1", "1-1", "1,2", "1-3,3", "3,1", "1, 3", "x",
		"1000000000", strings.Repeat("1,", maxSpans) + "1"} {
		if s, err := ParseSet(text); err == nil {
			t.Errorf("%.20q is %s", text, s)
		}
	}
}

func FuzzSet(f *testing.F) {
	f.Add("1-4,7", 5)
	f.Add("", 1)
	f.Add(" 3,9-12\n", 999999999)
	f.Fuzz(func(t *testing.T, text string, id int) {
		s, err := ParseSet(text)
		if err != nil {
			return
		}
		if s.String() != strings.TrimSpace(text) {
			t.Fatalf("%q prints as %q", text, s)
		}
		had, before := s.Has(id), s.String()
		grown := s
		if err := grown.Add(id); err != nil {
			return
		}
		again, err := ParseSet(grown.String())
		if err != nil || again.String() != grown.String() || !again.Has(id) {
			t.Fatalf("%q with %d is %q, %v", text, id, grown, err)
		}
		if s.String() != before || had != (before == grown.String()) {
			t.Fatalf("%q changed to %q", before, s)
		}
	})
}
