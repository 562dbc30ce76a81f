package review

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// Ending is the input of a unit's report in COMMS.md. A person who reads only the report learns what
// was done, what decided, what it cost and what to type (WORK-5).
type Ending struct {
	Report   loop.Report
	Unit     *uow.Record // the unit's newest record
	Criteria []Criterion
	Verdict  *loop.Verdict // the host's, on the last claim; nil for none
	Said     string        // the worker's last message; "" for none
	Changes  []Change      // the work's difference from its base in the project
	Cost     Cost
	Instead  []string // each switch to another model
	Branch   string   // the branch with the work
	Record   string   // the ref of the unit's record
	Project  string   // the project's branch if it has the work, else ""
	Unmerged string   // why the agent did not merge although it may; "" if that is not so
	Lessons  string   // what became of the lessons; "" for none
}

// The limits of a report; the review has the rest.
const (
	maxSaid  = 4 << 10 // bytes of the worker's message
	maxFiles = 20      // lines of the diffstat
	maxTold  = 40      // criteria
	tailSize = 400     // bytes of the output of a criterion that is not met
	maxPaths = 20      // paths that were left out or reset to main's version
)

// saidHead precedes the worker's message in a report.
const saidHead = "The agent says:"

// Quoted returns the part of a report that a list shows: the worker's message if Text made the
// report and quotes one, else its first paragraph.
func Quoted(text string) string {
	text = strings.TrimSpace(text)
	words, ok := strings.CutPrefix(text, saidHead)
	if !ok {
		first, _, _ := strings.Cut(text, "\n\n")
		return first
	}
	var lines []string
	for line := range strings.SplitSeq(strings.Trim(words, "\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, "    ") {
			break
		}
		lines = append(lines, strings.TrimPrefix(line, "    "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Text returns the report.
func (e Ending) Text() string {
	var b strings.Builder
	part := func(lines ...string) {
		if text := strings.TrimRight(strings.Join(lines, "\n"), "\n"); text != "" {
			b.WriteString(text + "\n\n")
		}
	}
	if e.Said != "" {
		part(saidHead, "", diag.Indent(diag.CleanLines(diag.Cut(e.Said, maxSaid))))
	}
	part(diag.CleanLines(e.Report.Outcome()))
	part(e.deviations()...)
	part(e.work()...)
	part(e.criteria()...)
	part("Cost: " + e.Cost.Words() + ".")
	for _, change := range e.Instead {
		part(diag.CleanLines(change) + ".")
	}
	part(e.Unmerged)
	part(e.Lessons)
	part(e.next()...)
	if e.Report.Status == loop.ExitConverged {
		part(loop.Caveat)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// work describes the changes and where they are.
func (e Ending) work() (lines []string) {
	if len(e.Changes) == 0 {
		return append(lines, fmt.Sprintf("Unit %s, which changed nothing.", e.Report.LoopID))
	}
	if e.Project != "" {
		lines = append(lines, fmt.Sprintf("It is in %s.", e.Project))
	}
	lines = append(lines, fmt.Sprintf("Unit %s. %s holds the work, %s what led there.", e.Report.LoopID, e.Branch, e.Record), "", strings.ToUpper(Summary(e.Changes)[:1])+Summary(e.Changes)[1:]+".")
	stat := Stat(e.Changes)
	for i, line := range stat {
		if i == maxFiles {
			lines = append(lines, fmt.Sprintf("    and %s more", diag.Count(len(stat)-i, "file")))
			break
		}
		lines = append(lines, "   "+line)
	}
	return lines
}

// criteria lists each criterion with its command and result: met, not met, or not run.
func (e Ending) criteria() (lines []string) {
	for i, c := range e.Criteria {
		if i == maxTold {
			lines = append(lines, fmt.Sprintf("- and %d more", len(e.Criteria)-i))
			break
		}
		how := c.Result
		switch {
		case c.Trouble != "":
			how += " (" + c.Trouble.String() + ")"
		case c.Result == "not met" && c.ExitCode != nil:
			how += fmt.Sprintf(" (exit %d)", *c.ExitCode)
		}
		line := "- " + how + ": " + c.Text.String()
		if c.Command != "" && !strings.Contains(c.Text.Raw(), c.Command.Raw()) {
			line += " (`" + c.Command.String() + "`)"
		}
		lines = append(lines, line)
		if tail := strings.TrimSpace(c.Tail.Lines()); tail != "" {
			lines = append(lines, strings.TrimSuffix(diag.Indent(lastBytes(tail, tailSize)), "\n"))
		}
	}
	if r := e.Report.Residuals(); r != "" {
		lines = append(lines, "", "Residuals: "+r+".")
	}
	return lines
}

// lastBytes returns the last whole lines of a text that fit in n bytes, or the end of its last line
// if that does not fit.
func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-n:], "")
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return text
}

// deviations lists what a reader should look at first: changes left out or restored for the verdict,
// the verdict's doubts, and paths that the PM included.
func (e Ending) deviations() (lines []string) {
	list := func(what string, paths []string) {
		for i, path := range paths {
			if i == maxPaths {
				lines = append(lines, fmt.Sprintf("- and %d more", len(paths)-i))
				return
			}
			lines = append(lines, "- "+what+": "+diag.Untrusted(path).String())
		}
	}
	if v := e.Verdict; v != nil {
		list("not work, so left out of the deciding run", v.LeftWords())
		list("frozen, so restored for the verdict", v.Deviations)
		for _, d := range v.Against() {
			if list(d.One, d.Of); len(d.Of) == 0 {
				lines = append(lines, "- "+d.One)
			}
		}
		list("work by your word", v.Included)
		if v.Fence == loop.FenceNone {
			lines = append(lines, "- judged without a fence")
		}
	} else {
		list("not work, so left out of the deciding run", e.Report.Left)
	}
	if len(lines) > 0 {
		lines = append([]string{"Look first at:"}, lines...)
	}
	return lines
}

// next lists what to type, likeliest first. For a unit that waits, the first command is the one that
// lists of what waits show.
func (e Ending) next() (lines []string) {
	// A claim without changes is a commit that the project already has, which does not mean done.
	if e.Project != "" && (len(e.Changes) > 0 || e.Report.Status == loop.ExitConverged) {
		return nil
	}
	actions := e.Report.NextActions
	if e.Unit != nil {
		actions = e.Report.Advice(e.Unit.Next())
	}
	for i, a := range actions {
		lines = append(lines, map[bool]string{true: "Next: ", false: "  or: "}[i == 0]+diag.Clean(a))
	}
	return lines
}
