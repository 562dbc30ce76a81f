package secret

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// The secrets of these tests are drawn from the rules' own expressions, so that
// no file here holds anything that looks like one.

// newRand is the same sequence in every run.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// ruleNamed finds a rule.
func ruleNamed(t testing.TB, id string) *rule {
	for i := range rules {
		if rules[i].id == id {
			return &rules[i]
		}
	}
	t.Fatalf("no rule %q", id)
	return nil
}

// secretFor draws a text in which the rule finds a secret, and the secret.
func secretFor(t testing.TB, id string, rnd *rand.Rand) (text, secret string) {
	r, s := ruleNamed(t, id), New(1<<40)
	for range 1000 {
		text = sample(t, r.regex, rnd)
		if r.apart {
			text += " " + r.anchors[0].text
		}
		for _, f := range fullScan(s, r, []byte(text)) {
			if f.Start < f.End {
				return text, text[f.Start:f.End]
			}
		}
	}
	t.Fatalf("no sample of %s passes for a secret", id)
	return "", ""
}

// sample draws a text that the expression matches.
func sample(t testing.TB, expr string, rnd *rand.Rand) string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	matcher := regexp.MustCompile(expr)
	for range 1000 {
		var b strings.Builder
		draw(&b, re, rnd)
		if matcher.MatchString(b.String()) { // \b and the like may not hold
			return b.String()
		}
	}
	t.Fatalf("no sample of %s", expr)
	return ""
}

func draw(b *strings.Builder, re *syntax.Regexp, rnd *rand.Rand) {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 && rnd.IntN(2) == 0 {
			text = strings.ToLower(text)
		}
		b.WriteString(text)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(drawByte(re, rnd))
	case syntax.OpAlternate:
		draw(b, re.Sub[rnd.IntN(len(re.Sub))], rnd)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := re.Min, re.Max
		switch re.Op {
		case syntax.OpStar:
			least, most = 0, 12
		case syntax.OpPlus:
			least, most = 1, 12
		case syntax.OpQuest:
			least, most = 0, 1
		}
		if most < 0 {
			most = least + 40
		}
		for range least + rnd.IntN(most-least+1) {
			draw(b, re.Sub[0], rnd)
		}
	default:
		for _, sub := range re.Sub {
			draw(b, sub, rnd)
		}
	}
}

// drawByte draws a printable byte of a class, or any ASCII if it has none.
func drawByte(re *syntax.Regexp, rnd *rand.Rand) byte {
	var members, printable []byte
	for c := range byte(128) {
		if isMember(re, c) {
			members = append(members, c)
			if ' ' <= c && c <= '~' {
				printable = append(printable, c)
			}
		}
	}
	if printable != nil {
		members = printable
	}
	return members[rnd.IntN(len(members))]
}

func isMember(re *syntax.Regexp, c byte) bool {
	for i := 0; i+1 < len(re.Rune); i += 2 {
		if re.Rune[i] <= rune(c) && rune(c) <= re.Rune[i+1] {
			return true
		}
	}
	return re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL && c != '\n'
}
