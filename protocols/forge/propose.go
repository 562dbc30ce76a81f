package forge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
	"git-ward/protocols/comms"
)

// Issue is an issue as it was when it got the label.
type Issue struct {
	Number      int64
	Title, Body diag.Untrusted
}

// Proposal is the directive that an issue would become. It shows all of the issue, and quotes
// everything except the criteria.
type Proposal struct {
	Issue    int64
	Title    string
	Text     string   // below the title, as COMMS.md would have it
	Criteria []string // each with its command
	Hash     string   // of title and text: an approval by hash is of exactly these bytes
}

// The limits of an issue: bytes, and numbers of criteria and findings.
const (
	maxTitle    = 200
	maxBody     = 16 << 10
	maxCriteria = 50
	maxFindings = 10
)

// Propose makes a directive of an issue, or returns findings that say what to change in the issue, and
// on which line. Every line but tasks is quoted, so that none can be an option, a heading or an entry
// of COMMS.md. Tasks become criteria, which the proposal lists one by one. A task in a code fence or
// an HTML comment does not count, as on the forge's page. Should the page and Propose disagree, the
// person who approves still sees what Propose read.
func Propose(i Issue) (p Proposal, findings []string) {
	r := reader{}
	p = Proposal{Issue: i.Number, Title: r.title(i.Title.Raw())}
	r.body(strings.ReplaceAll(i.Body.Raw(), "\r\n", "\n"))
	if len(r.found) > 0 {
		return Proposal{}, r.found
	}
	p.Text, p.Criteria = r.text(i.Number), r.criteria
	if r.hold(p); len(r.found) > 0 {
		return Proposal{}, r.found
	}
	sum := sha256.Sum256([]byte(p.Draft().Text()))
	p.Hash = hex.EncodeToString(sum[:])
	return p, nil
}

// Draft converts the proposal for comms.Addition.
func (p Proposal) Draft() comms.Draft { return comms.Draft{Title: p.Title, Body: p.Text} }

// reader is the state of parsing an issue.
type reader struct {
	quoted   []string // the lines of the goal
	criteria []string
	lines    []int // the line of the issue's body where each criterion begins
	found    []string
}

func (r *reader) bad(line int, format string, args ...any) {
	if len(r.found) < maxFindings {
		place := "title"
		if line > 0 {
			place = fmt.Sprintf("line %d", line)
		}
		r.found = append(r.found, place+": "+fmt.Sprintf(format, args...))
	}
}

func (r *reader) title(title string) string {
	title = strings.TrimSpace(title)
	if title == "" {
		r.bad(0, "there is none: write what is to be done")
	} else if len(title) > maxTitle {
		r.bad(0, "it has %d bytes, more than %d: say the rest below", len(title), maxTitle)
	} else if h, hidden := diag.FindHidden(title, false); hidden {
		r.bad(0, "byte %d is %s, which nobody sees: type it anew", h.At+1, h.What)
	}
	return title
}

// task matches a list item with a check box, at any indentation.
var task = pattern.New(`^([ \t]*)([-*+]|[0-9]{1,9}[.)])[ \t]+\[[ xX]\][ \t]+(\S.*)$`)

// item matches the beginning of a list item, and fence that of a code fence.
var (
	item  = pattern.New(`^[ \t]*([-*+]|[0-9]{1,9}[.)])([ \t]|$)`)
	fence = pattern.New("^ {0,3}(?:[-*+] +)?(`{3,}|~{3,})")
)

func (r *reader) body(body string) {
	if len(body) > maxBody {
		r.bad(1, "the issue has %d bytes, more than %d: say less, or name a file that says it", len(body), maxBody)
		return
	}
	var code string // the open code fence, "" for none
	comment, open := false, false
	n := 0
	for line := range strings.SplitSeq(body, "\n") {
		n++
		if h, hidden := diag.FindHidden(line, true); hidden {
			r.bad(n, "column %d is %s, which nobody sees: type the line anew", h.At+1, h.What)
			continue
		}
		mark := ""
		if m := fence.FindStringSubmatch(line); m != nil && !comment {
			mark = m[1]
		}
		switch m := task.FindStringSubmatch(line); {
		case code != "":
			if strings.HasPrefix(mark, code) {
				code = ""
			}
		case mark != "":
			code, open = mark, false
		case comment || strings.HasPrefix(strings.TrimLeft(line, " "), "<!--"):
			comment, open = !strings.Contains(line, "-->"), false
		case m != nil:
			if open = r.task(n, m); open {
				continue
			}
		case open && strings.TrimSpace(line) != "" && (strings.HasPrefix(line, "  ") || line[0] == '\t') && !item.MatchString(line):
			r.criteria[len(r.criteria)-1] += " " + strings.TrimSpace(line)
			continue
		default:
			open = false
		}
		r.quoted = append(r.quoted, strings.TrimRight("> "+line, " \t"))
	}
}

// task adds a list item with a check box as a criterion, or returns false and a finding if it cannot be
// one. m is the match of the pattern task, n the line.
func (r *reader) task(n int, m []string) bool {
	switch {
	case m[1] != "" || !strings.Contains("-*+", m[2]):
		r.bad(n, "a task within a list: begin its line with \"- [ ] \", or write it without the box; an example stands between two lines ```")
	case len(r.criteria) == maxCriteria:
		r.bad(n, "more than %d tasks: make several issues of it", maxCriteria)
	default:
		r.criteria, r.lines = append(r.criteria, strings.TrimSpace(m[3])), append(r.lines, n)
		return true
	}
	return false
}

// text returns the directive's text below its title.
func (r *reader) text(issue int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Issue %d on the forge says:\n\n", issue)
	empty := func(line string) bool { return line == ">" }
	for len(r.quoted) > 0 && empty(r.quoted[len(r.quoted)-1]) {
		r.quoted = r.quoted[:len(r.quoted)-1]
	}
	for i, line := range r.quoted {
		if !empty(line) || i > 0 && !empty(r.quoted[i-1]) {
			b.WriteString(line + "\n")
		}
	}
	if len(r.quoted) == 0 {
		b.WriteString("> (its title says all)\n")
	}
	b.WriteString("\n")
	for _, c := range r.criteria {
		b.WriteString("- [ ] " + c + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// hold parses the proposal with the parsers of COMMS.md: as a draft with the title on its first line,
// and as a file with one directive that has these criteria and no options. Anything else is a finding.
func (r *reader) hold(p Proposal) {
	if draft, err := comms.ParseDraft(p.Draft().Text()); err != nil || draft != p.Draft() {
		r.bad(0, "COMMS.md takes it for more than a title: begin it with a word")
		return
	}
	a, err := comms.Amend([]byte(comms.Empty), comms.Addition{Draft: p.Draft()}, comms.Whole)
	if err != nil {
		r.bad(1, "it cannot stand in COMMS.md: %v", err)
		return
	}
	for _, f := range a.Found {
		if f.IsError() && f.Pos.Line > 0 {
			if i := f.Pos.Line - 1 - strings.Count(p.Draft().Text(), "\n") + len(p.Criteria); i >= 0 && i < len(r.lines) {
				r.bad(r.lines[i], "%s", f.Message+": "+f.Hint)
				continue
			}
		}
		if f.IsError() {
			r.bad(1, "it cannot stand in COMMS.md: %s", f.Message+": "+f.Hint)
		}
	}
	if len(r.found) > 0 {
		return
	}
	doc, _ := comms.Parse(a.Data)
	if len(doc.Directives) != 1 || len(doc.Reports)+len(doc.Questions) > 0 || doc.Directives[0].Title.Raw() != p.Title ||
		!reflect.DeepEqual(doc.Directives[0].Options, comms.Options{}) || !slices.EqualFunc(doc.Directives[0].Criteria, p.Criteria, func(c comms.Criterion, text string) bool { return c.Text == text }) {
		r.bad(1, "COMMS.md would say another thing than the issue does")
		return
	}
	if len(p.Criteria) == 0 {
		r.bad(1, "no task says how its end is seen: add a line such as \"%s\"", comms.ExampleCriterion)
	}
	for i, c := range doc.Directives[0].Criteria {
		if c.Command == "" {
			r.bad(r.lines[i], "no command decides this task: end it with one in backticks, as in \"%s\", or write it without the box", comms.ExampleCriterion)
		}
	}
}

// Comment returns the comment to post on the issue. The directive and the line to type are code
// blocks, byte for byte. Their indentation keeps them from column 0, where a line could be a verb.
func (p Proposal) Comment() string {
	var b strings.Builder
	b.WriteString("Ward would work on this issue by the directive below, and by nothing else. Somebody who may write to this repository starts exactly this text by a comment that begins with\n\n")
	b.WriteString(indent + prefix + " " + Approve + " " + p.Hash + "\n\n")
	b.WriteString("A later edit of the issue changes nothing of it. For another text, edit the issue and set the label again.\n\n**The directive**\n\n")
	b.WriteString(block(p.Draft().Text()) + "\n\n")
	b.WriteString("**What decides**, run by Ward's host in containers of its own, without the work and with it:\n\n")
	for _, c := range p.Criteria {
		b.WriteString("- " + Span(diag.Untrusted(c), maxBody) + "\n")
	}
	return b.String()
}

// block indents a text that Propose has checked, to make it a code block.
func block(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, strings.TrimRight(indent+line, " "))
	}
	return strings.Join(lines, "\n")
}

// Refusal returns the comment to post on an issue with findings.
func Refusal(findings []string) string {
	var b strings.Builder
	b.WriteString("Ward cannot make a directive of this issue. Mend it, and set the label again:\n\n")
	for _, f := range findings {
		b.WriteString("- " + Span(diag.Untrusted(f), 1<<10) + "\n")
	}
	return b.String()
}
