package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// Known reports whether a cited commit, by its id or an abbreviation, or lesson exists. Nil
// means that citations are not checked.
type Known func(id string) (bool, error)

// Citations makes the linter check the commits and lessons that steps cite.
func (l *Linter) Citations(known Known) { l.cited = known }

var (
	citedFile   = pattern.New(`^([^:]+?)(?::([0-9]+)(?:[-:][0-9]+)*)?$`)
	citedLesson = pattern.New(`^L-[0-9a-f]{12}$`)
	citedCommit = pattern.New(`^[0-9a-f]{7,40}$`)
	// endings are what tells a file from a symbol, such as json.Marshal, where no line stands.
	endings = strings.Fields("c cc cfg cpp cs css go h hpp html ini java js jsonl json jsx kt md mod php proto py rb rs sh sql sum toml ts tsx txt udc xml yaml yml")
)

// citations reports what a step cites and is not there (PLAN-9): evidence that nobody can
// look up is none. Symbols, addresses and words are not looked for.
func (t *tracker) citations(s *Step) error {
	if !t.inTree || t.opaque || t.linter.ran {
		return nil
	}
	for _, text := range s.Evidence() {
		word := citedWord(strings.TrimPrefix(text, "commit "))
		var wrong string
		var err error
		switch {
		case citedLesson.MatchString(word), citedCommit.MatchString(word) && strings.ContainsAny(word, "0123456789"):
			wrong, err = t.missingID(word)
		default:
			wrong, err = t.missingFile(word)
		}
		if err != nil {
			return err
		}
		if wrong != "" {
			t.report(s, RuleCitation, "the evidence is not there: "+wrong, "cite what can be looked up: a file with its line, a symbol, a commit, a lesson (git ward orient --search WORDS)")
		}
	}
	return nil
}

// citedWord is what a text cites first: a word, or what stands in quotes with the line behind them,
// for a path may have blanks.
func citedWord(text string) string {
	if text != "" && strings.Contains("`\"'", text[:1]) {
		if name, rest, ok := strings.Cut(text[1:], text[:1]); ok {
			line, _, _ := strings.Cut(rest, " ")
			return name + strings.TrimRight(line, ".,;)")
		}
	}
	word, _, _ := strings.Cut(text, " ")
	return strings.Trim(strings.TrimRight(word, ".,;"), "`\"'()")
}

// missingID says that a commit or a lesson does not exist.
func (t *tracker) missingID(id string) (string, error) {
	if t.linter.cited == nil {
		return "", nil
	}
	if ok, err := t.linter.cited(id); ok || err != nil {
		return "", err
	}
	if strings.HasPrefix(id, "L-") {
		return "there is no lesson " + id, nil
	}
	return "there is no commit " + id, nil
}

// missingFile says that a file does not exist, or has fewer lines; "" where the word is none.
func (t *tracker) missingFile(word string) (string, error) {
	m := citedFile.FindStringSubmatch(word)
	if m == nil || BadPath(m[1]) != "" {
		return "", nil
	}
	name, line := m[1], m[2]
	if line == "" && !slices.Contains(endings, name[strings.LastIndex(name, ".")+1:]) {
		return "", nil
	}
	if f, known := t.known[name]; known && f.there {
		return "", nil
	}
	trees := append([]Tree{t.linter.tree, t.linter.sources}, t.linter.earlier...)
	for _, tree := range trees {
		kind, err := tree.Kind(name)
		if err != nil {
			return "", err
		}
		if kind != Missing {
			return tooFewLines(tree, name, line), nil
		}
	}
	if kind, err := t.linter.tree.Kind("COMMS.md"); err != nil || kind == Missing && ofControl(name) {
		return "", err
	}
	return name + " does not exist", nil
}

// ofControl reports whether a path may be one of the control branch, where the work has a
// branch of its own.
func ofControl(name string) bool {
	dir, _, below := strings.Cut(name, "/")
	if !below {
		return slices.Contains([]string{"COMMS.md", "SYSTEM.md", "AGENTS.md", "LEARNINGS.md"}, name)
	}
	return slices.Contains([]string{"plans", "protocols", "postmortems", "knowledge_core", "research", "skills", "spec", "logs"}, dir)
}

// tooFewLines says that a file ends before a line; "" too where it is too large to look.
func tooFewLines(tree Tree, name, line string) string {
	want, err := strconv.Atoi(line)
	if err != nil {
		return ""
	}
	data, err := tree.ReadFile(name, MaxBytes)
	if err != nil {
		return ""
	}
	lines := strings.Count(string(data), "\n")
	if len(data) > 0 && data[len(data)-1] != '\n' {
		lines++
	}
	if want > max(lines, 1) {
		return fmt.Sprintf("%s has %s, not %d", name, diag.Count(lines, "line"), want)
	}
	return ""
}
