package secret

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// fullScan is what gitleaks does for one rule: its regex runs over all the data.
func fullScan(s *Scanner, r *rule, data []byte) []Finding {
	s.prepare()
	c := candidates{data: data}
	re := expression(r.regex)
	for _, m := range re.FindAllIndex(data, -1) {
		match := trim(span{m[0], m[1]}, data)
		s.judge(r, match, pick(re.FindSubmatchIndex(match.of(data)), r.group, match), &c)
	}
	if r.apart && !hasAnchor(r, data) {
		return nil
	}
	return c.found
}

func hasAnchor(r *rule, data []byte) bool {
	return slices.ContainsFunc(r.anchors, func(a anchor) bool {
		return bytes.Contains(bytes.ToLower(data), []byte(a.text))
	})
}

// partScan is what Scan does for one rule.
func partScan(t testing.TB, s *Scanner, r *rule, path string, data []byte) []Finding {
	s.prepare()
	s.locate(path, data)
	c := candidates{data: data}
	for i := range rules {
		if r == &rules[i] {
			if err := s.apply(r, &s.trackers[i], path, &c); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c.found
}

// pathFor gives a path that the rule is for.
func pathFor(t testing.TB, r *rule) string {
	s := New(0)
	s.prepare()
	for _, path := range []string{"a.yaml", "a.php", "a.tf", "nuget.config", "a.p12"} {
		if r.path == "" || expression(r.path).MatchString(path) {
			return path
		}
	}
	t.Fatalf("no path for rule %s", r.id)
	return ""
}

func compare(t *testing.T, r *rule, data []byte) {
	t.Helper()
	full := fullScan(New(1<<40), r, data)
	part := partScan(t, New(1<<40), r, pathFor(t, r), data)
	if !slices.Equal(full, part) {
		t.Errorf("%s: the whole data gives %v, the parts %v, in\n%q", r.id, full, part, data)
	}
}

// TestPlaces hides a secret of each rule in a large text. To find it where the
// whole text would show it is what the derived part of the table is for.
func TestPlaces(t *testing.T) {
	for i := range rules {
		r := &rules[i]
		if r.regex == "" {
			continue
		}
		t.Run(r.id, func(t *testing.T) {
			t.Parallel()
			rnd := newRand(uint64(i))
			for range 2 {
				text, _ := secretFor(t, r.id, rnd)
				compare(t, r, slices.Concat(noise(rnd, 1500), []byte(text), noise(rnd, 1500)))
			}
		})
	}
}

// TestMixture compares on texts that are made to confuse: names, operators,
// values and literals of all rules without order, close together.
func TestMixture(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := newRand(seed)
			var chosen []*rule
			for range 6 {
				if r := &rules[rnd.IntN(len(rules))]; r.regex != "" {
					chosen = append(chosen, r)
				}
			}
			chosen = append(chosen, ruleNamed(t, "generic-api-key"))
			data := mixture(t, rnd, chosen)
			for _, r := range chosen {
				compare(t, r, data)
			}
		})
	}
}

// TestLongValues compares where a value without a greatest length ends: about the bounds of the
// parts that have one, among names and operators that begin others.
func TestLongValues(t *testing.T) {
	for _, id := range []string{"generic-api-key", "yandex-access-token"} {
		r := ruleNamed(t, id)
		for seed := range uint64(60) {
			rnd := newRand(seed)
			var b bytes.Buffer
			for b.Len() < 600 {
				b.WriteString([]string{"key=", "yandex=", "token = \"", ";", "\n", "\\n", "=", "==", "+", ".", "/"}[rnd.IntN(11)])
				if rnd.IntN(3) == 0 {
					b.WriteString(sample(t, []string{`[a-z0-9]{145,155}`, `[a-z0-9+/]{145,155}={0,4}`, `([a-z0-9]{3,9}=){2,40}`, `[a-zA-Z0-9.=/-]{1,40}`}[rnd.IntN(4)], rnd))
				}
			}
			compare(t, r, b.Bytes())
		}
	}
}

func mixture(t *testing.T, rnd *rand.Rand, chosen []*rule) []byte {
	var b bytes.Buffer
	for b.Len() < 4000 {
		r := chosen[rnd.IntN(len(chosen))]
		text := sample(t, r.regex, rnd)
		switch rnd.IntN(8) {
		case 0:
			b.WriteString(text)
		case 1:
			b.WriteString(text[:rnd.IntN(len(text)+1)])
		case 2:
			b.WriteString(text[rnd.IntN(len(text)+1):])
		case 3:
			b.WriteString(r.anchors[rnd.IntN(len(r.anchors))].text)
		case 4:
			b.WriteString([]string{"=", ":", " := ", "=\"", "\"", "'", ";", "\n", "\\n", " ", "==", "||", ",", "."}[rnd.IntN(14)])
		case 5:
			b.WriteString(strings.Repeat(sample(t, `[A-Za-z0-9+/=_.-]{1,4}`, rnd), rnd.IntN(30)))
		case 6:
			b.Write(noise(rnd, rnd.IntN(60)))
		case 7:
			b.WriteString(sample(t, `[a-z_.-]{1,60}(key|token)[ =:"]{1,9}[A-Za-z0-9]{8,170}[";\n ]`, rnd))
		}
	}
	return b.Bytes()
}

// noise is n bytes of text, code or binary data.
func noise(rnd *rand.Rand, n int) []byte {
	alphabets := []string{
		"etaoin shrdlu \n", "abcdefghijklmnopqrstuvwxyzABCDEF0123456789+/",
		"{}()[]<>=:;,.\"'` \t\n\\|?!#$%&*-_ax0", "\x00\x01\xff\xc3\xa9\xe2\x82\xac \n",
	}
	b := make([]byte, 0, n)
	for len(b) < n {
		a := alphabets[rnd.IntN(len(alphabets))]
		for range rnd.IntN(80) {
			b = append(b, a[rnd.IntN(len(a))])
		}
	}
	return b[:n]
}
