package loop

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// With is the verdict on the run that decides, v, when all commands ran once more
// with what the claim adds where something that decides would find it: left are
// these paths, at least one (LOOP-10).
//
// Both must pass, and the weaker word holds. Where only the run with them passes,
// nobody but the PM can say whether they are the work or its judge: NONE, and Needs
// is the line by which the PM accepts them.
func (v Verdict) With(with Verdict, left []string) Verdict {
	additions := v.Additions
	switch {
	case v.Verdict == None && with.Verdict == None:
	case v.Verdict == None:
		if v.Agree {
			v.Needs = AdditionsLine(left)
			v.Reason = fmt.Sprintf("it passes only with what it adds where something that decides would find it; without: %s", v.Reason)
		}
	case with.Verdict == None:
		with.Reason = "without what it adds it passes, and with it: " + with.Reason
		with.Trials = v.Trials
		v = with
	case v.Verdict == Exact && with.Verdict == Converged:
		v.Verdict, v.Lane, v.Reason = with.Verdict, with.Lane, with.Reason
	}
	v.Additions = additions
	return v
}

// maxNamed bounds how many globs one line lists.
const maxNamed = 12

// AdditionsLine is the option of a directive that accepts paths, as a PM writes it.
// Many are named by their directories. What a glob cannot say becomes a `?`.
func AdditionsLine(paths []string) string {
	globs := make([]string, len(paths))
	for i, p := range paths {
		globs[i] = asGlob(p)
	}
	for len(globs) > maxNamed {
		dirs := map[string]bool{}
		var up []string
		for _, g := range globs {
			if dir := path.Dir(strings.TrimSuffix(g, "/**")); dir == "." {
				up = append(up, g)
			} else if !dirs[dir] {
				dirs[dir] = true
				up = append(up, dir+"/**")
			}
		}
		if slices.Equal(up, globs) {
			break
		}
		globs = up
	}
	if len(globs) > maxNamed { // all of them at the top
		return "- additions: **"
	}
	return "- additions: " + strings.Join(globs, ", ")
}

// asGlob is a glob that matches a path and may stand in a directive.
func asGlob(p string) string {
	var b strings.Builder
	for _, r := range p {
		if r == utf8.RuneError || r <= ' ' || strings.ContainsRune("*?[]{}\\`,", r) || r > 0x7e && !unicode.IsLetter(r) {
			b.WriteByte('?')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
