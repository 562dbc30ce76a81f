package comms

import (
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
)

// valueReader parses the value of one option. Its methods store a valid value, or add a finding at the
// position of the error.
type valueReader struct {
	key, text string // text is never empty
	line, col int    // of text
	f         *findings
	failed    bool
}

// bad reports what is wrong at an offset into the value.
func (v *valueReader) bad(offset int, hint, format string, args ...any) {
	v.failed = true
	v.f.add(v.line, v.col+offset, ruleValue, hint, v.key+": "+format, args...)
}

// command takes a command, bare or in one pair of backticks.
func (v *valueReader) command(to *string) {
	command := v.text
	if n := len(command); n >= 2 && command[0] == '`' && command[n-1] == '`' {
		command = strings.TrimSpace(command[1 : n-1])
	}
	if command == "" || strings.Contains(command, "`") {
		v.bad(0, "write one command between two single backticks; inside it write $(...) for backticks",
			"%s is not one command", quote(v.text))
		return
	}
	*to = command
}

// count takes an integer from 1 to 999999999.
func (v *valueReader) count(to *int) {
	n := parseID(v.text) // the same digits, for the same reason: one way to write a number
	if n == 0 {
		v.bad(0, "write a whole number from 1 to 999999999, digits only", "%s is not a whole number of at least 1", quote(v.text))
		return
	}
	*to = n
}

// decimal takes a decimal number above zero, and keeps its digits.
func (v *valueReader) decimal(to *string) {
	if !positiveDecimal(v.text) {
		v.bad(0, `write a decimal number above zero, as "1e-3" or "0.001"`, "%s is not a decimal number above zero", quote(v.text))
		return
	}
	*to = v.text
}

// dollars takes an amount of money above zero and below a million, in the form of [budget]
// cost: at most six digits, and twelve decimals.
func (v *valueReader) dollars(to *string) {
	whole, part, hasPart := strings.Cut(v.text, ".")
	if !isDigits(whole) || len(whole) > 6 || hasPart && (!isDigits(part) || len(part) > 12) || strings.Trim(v.text, "0.") == "" {
		v.bad(0, `write dollars as "2.50", above zero and below a million, without a sign`, "%s is not an amount of money", quote(v.text))
		return
	}
	*to = v.text
}

// positiveDecimal accepts digits[.digits][e[+-]digits], the form of a JSON
// number, of at most 64 bytes and an exponent of at most three digits, so that
// exact arithmetic on it stays cheap.
func positiveDecimal(s string) bool {
	mantissa, exponent, hasExponent := s, "", false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent, hasExponent = s[:i], s[i+1:], true
	}
	whole, fraction, hasFraction := strings.Cut(mantissa, ".")
	if hasExponent {
		if exponent != "" && (exponent[0] == '-' || exponent[0] == '+') {
			exponent = exponent[1:]
		}
		if !isDigits(exponent) || len(exponent) > 3 {
			return false
		}
	}
	return len(s) <= 64 && isDigits(whole) && (whole == "0" || whole[0] != '0') &&
		(!hasFraction || isDigits(fraction)) && strings.Trim(mantissa, "0.") != ""
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// word takes one of a list of words.
func (v *valueReader) word(to *string, words []string) {
	if !slices.Contains(words, v.text) {
		v.bad(0, nearestHint(v.text, words), "%s is not known", quote(v.text))
		return
	}
	*to = v.text
}

func (v *valueReader) rung(to *int) {
	var s string
	if v.word(&s, rungs); !v.failed {
		*to, _ = strconv.Atoi(s)
	}
}

// certificates takes a list of certificates, one of which must be a success: a
// directive that can only fail is a mistake.
func (v *valueReader) certificates(to *[]Certificate) {
	var list []Certificate
	for offset, s := range items(v.text) {
		c := Certificate(s)
		switch {
		case s == "TIMEOUT" || s == "BACKPRESSURE":
			v.bad(offset, "delete it: it comes of itself", "%s is not for declaring", s)
		case !slices.Contains(certificates, c):
			v.bad(offset, nearestHint(s, names(certificates)), "%s is not a certificate", quote(s))
		case slices.Contains(list, c):
			v.bad(offset, "delete one", "%s stands here twice", s)
		default:
			list = append(list, c)
		}
		if v.f.full() {
			return
		}
	}
	if !v.failed && !slices.Contains(list, Exact) && !slices.Contains(list, Converged) {
		v.bad(0, "add EXACT (criteria with commands decide) or CONVERGED (the residual decides)", "no certificate of success is named")
	}
	if !v.failed {
		*to = list
	}
}

// maxUnknowns bounds how many lines say what is not known: each costs searches.
const maxUnknowns = 16

// unknown parses a line of any text. The option may be repeated.
func (v *valueReader) unknown(to *[]string) {
	if len(*to) == maxUnknowns {
		v.bad(0, "join some of them, or make a directive of its own for the rest", "a directive has at most %d of them", maxUnknowns)
		return
	}
	*to = append(*to, v.text)
}

// directives takes a list of directives, each once.
func (v *valueReader) directives(to *[]string) {
	var list []string
	for offset, s := range items(v.text) {
		switch {
		case parseName(s, 'D') == 0:
			v.bad(offset, "write ids like D-3, D-7, with commas between them", "%s is not the id of a directive", quote(s))
		case slices.Contains(list, s):
			v.bad(offset, "delete one", "%s stands here twice", s)
		case len(list) == maxAfter:
			v.bad(offset, "wait for the last ones only: what they wait for comes before them", "more than %d directives", maxAfter)
			return
		default:
			list = append(list, s)
		}
		if v.f.full() {
			return
		}
	}
	if !v.failed {
		*to = list
	}
}

// priority takes a whole number from -maxPriority to maxPriority.
func (v *valueReader) priority(to *int) {
	digits, negative := strings.CutPrefix(v.text, "-")
	n := parseID(digits)
	if n > maxPriority || n == 0 && v.text != "0" {
		v.bad(0, "write a whole number from -1000 to 1000, digits only; the higher one is worked on first",
			"%s is not a whole number from -1000 to 1000", quote(v.text))
		return
	}
	if negative {
		n = -n
	}
	*to = n
}

// globs takes a list of globs relative to the root of the tree.
func (v *valueReader) globs(to *[]string) {
	var list []string
	for offset, s := range items(v.text) {
		if problem := globProblem(s); problem != "" {
			v.bad(offset, "write globs like scripts/** or *_test.go, relative to the root of the repository, with commas between them",
				"%s %s", quote(s), problem)
		}
		if v.f.full() {
			return
		}
		list = append(list, s)
	}
	if !v.failed {
		*to = list
	}
}

// globProblem returns why s is not a glob of a path that git can have, or "".
func globProblem(s string) string {
	_, err := path.Match(s, "")
	switch {
	case s == "":
		return "is empty"
	case strings.HasPrefix(s, "/"):
		return "is absolute"
	case strings.ContainsAny(s, "\\{}`"):
		return "holds a character that globs here do not have"
	case slices.Contains(strings.Split(s, "/"), ".."):
		return "leaves the repository"
	case err != nil:
		return "has a [ without its ]"
	}
	return ""
}

// items yields the trimmed items of a comma list, with their offsets; backticks
// around an item are dropped.
func items(v string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at := 0; ; {
			s, _, more := strings.Cut(v[at:], ",")
			text := strings.TrimLeft(s, " \t")
			offset := at + len(s) - len(text)
			text = strings.TrimRight(text, " \t")
			if len(text) >= 2 && text[0] == '`' && text[len(text)-1] == '`' {
				text = text[1 : len(text)-1]
			}
			if !yield(min(offset, len(v)-1), text) || !more {
				return
			}
			at += len(s) + 1
		}
	}
}
