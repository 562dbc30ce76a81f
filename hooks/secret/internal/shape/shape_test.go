package shape

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"
)

func parse(t *testing.T, expr string) *syntax.Regexp {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return re
}

// show writes anchors as text, /i if they fold, ^ if matches begin with them,
// and what follows.
func show(as []Anchor) string {
	var parts []string
	for _, a := range as {
		s := a.Text
		if a.Fold {
			s += "/i"
		}
		if a.AtStart {
			s = "^" + s
		}
		for _, set := range a.Then {
			s += set.String()
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func TestAnchors(t *testing.T) {
	for expr, want := range map[string]string{
		`abc`:                       `^abc`,
		`(?i)abc`:                   `^abc/i`,
		`\b(abc)[0-9]{2}x?`:         `^abc[0-9][0-9]`,
		`[a-z]{3}abc`:               `abc`,
		`[a-z]?abcd|efg[0-9]`:       `abcd ^efg[0-9]`,
		`ab(?:c|de)f[u-z]`:          `^abcf[u-z] ^abdef[u-z]`,
		`access|auth`:               `^access ^auth`,
		`passw(?:or)?d`:             `^passwd ^password`,
		`(?:abc|ABC|[Aa]bc)`:        `^abc/i`,
		`A(?:3T[A-Z0-9]|KIA)[0-9]`:  `^A3T[0-9A-Z][0-9] ^AKIA[0-9]`,
		`ab(?:cd)+e`:                `^abcd`,
		`(?:ab)*cde`:                `cde`,
		`ab[c-h]{2,}fg`:             `^ab[c-h][c-h]`,
		`ab[cd]{2,}fg`:              `^abc ^abd`,
		`[a-z]{20}`:                 ``,
		`abc|[0-9]+`:                ``,
		`a|b`:                       ``,
		`(?i)kind:.*(?:data|value)`: `^kind:/i`,
	} {
		if got := show(Anchors(parse(t, expr))); got != want {
			t.Errorf("%s: got %s, want %s", expr, got, want)
		}
	}
}

func TestReach(t *testing.T) {
	for expr, want := range map[string]string{
		`abc[0-9]{2,5}x?`:        `9 []`,
		`a|bcd`:                  `3 []`,
		`a[0-9]+b`:               `2 [0-9]`,
		`a[0-9]{3,}(?:b|[xy]*)c`: `3 [0-9x-y]`,
		`é[à-ü]`:                 `6 []`,
		`(?:[\r\n]{1,2}.*){1,3}`: `6 [\x00-\t\v-\xff]`,
		`[^"]{2}`:                `8 []`,
	} {
		bound, run := Reach(parse(t, expr))
		if got := fmt.Sprint(bound, run); got != want {
			t.Errorf("%s: got %s, want %s", expr, got, want)
		}
	}
}

func TestHead(t *testing.T) {
	for expr, want := range map[string]string{
		`(?i)\bab`:         `[[Aa] [Bb]]`,
		`a[0-9]{2}b+c`:     `[[a] [0-9] [0-9] [b]]`,
		`(?:ab|cde)f`:      `[[ac] [bd]]`,
		`(?:ab|cd)f`:       `[[ac] [bd] [f]]`,
		`a?b`:              `[]`,
		`(?i)[ks]x`:        `[[KSks] [Xx]]`, // without the long s and the kelvin sign
		`a[0-9]{2,3}[a-c]`: `[[a] [0-9] [0-9]]`,
	} {
		if got := fmt.Sprint(Head(parse(t, expr))); got != want {
			t.Errorf("%s: got %s, want %s", expr, got, want)
		}
	}
	if n := len(Head(parse(t, `[a-z]{64}x`))); n != maxThen {
		t.Errorf("a long head has %d sets", n)
	}
}

func TestParseAssignment(t *testing.T) {
	template := namePrefix + "%s" + nameSuffix + operator + valuePrefix + "%s" + valueSuffix
	a, ok := ParseAssignment(fmt.Sprintf(template, "acme|acme_corp", "[a-f0-9]{32}|x{40}"))
	if got, want := fmt.Sprintln(show(a.Anchors), a.Before, a.Gap, a.Value, a.Min, a.Max, a.Closed, ok),
		"^acme/i ^acme_corp/i 50 28 [0-9A-FXa-fx] 32 40 true true\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	a, ok = ParseAssignment(fmt.Sprintf(template, "acme[a-z]{0,9}", `"[a-z]{8,}"`))
	if !ok || a.Closed || a.Max != 0 || a.Gap != 9+gapBytes {
		t.Errorf("got %+v, %v", a, ok)
	}
	for _, regex := range []string{
		`abc`,
		fmt.Sprintf(template, "[ab]cme", "x") + "|" + valueSuffix[1:],
		fmt.Sprintf(template, "acme", `x{9})|\b(y{9}`), // two alternatives
		fmt.Sprintf(template, "acme.corp", "x"),        // a name of any bytes
		fmt.Sprintf(template, "[a-z]+acme", "x"),       // a name with something in front
	} {
		if a, ok := ParseAssignment(regex); ok {
			t.Errorf("%s is taken for %+v", regex, a)
		}
	}
}
