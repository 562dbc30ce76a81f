package orient

import (
	"fmt"
	"io"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// maxListed is how many lessons the text names before it only counts.
const maxListed = 50

// WriteText renders the report for a person or a model. What the repository or a
// search says is shown as what it is: text of others.
func (r *Report) WriteText(w io.Writer) {
	fmt.Fprintf(w, "L1 self-awareness\n")
	if id := r.Identity; id != nil {
		fmt.Fprintf(w, "  %s %s: %s\n  can: %s\n", diag.Clean(id.Name), diag.Clean(id.Version), diag.Clean(id.Description), diag.Clean(strings.Join(id.Capabilities, ", ")))
		for _, l := range id.Limitations {
			fmt.Fprintf(w, "  cannot: %s\n", diag.Clean(l))
		}
	}
	if r.Repository != nil {
		r.Repository.writeText(w)
	}
	if r.Environment != nil {
		r.Environment.writeText(w)
	}
	for _, u := range r.Unknowns {
		fmt.Fprintf(w, "  unknown: %s\n", diag.Clean(u.Query))
		if u.Error != "" {
			fmt.Fprintf(w, "    %s\n", u.Error)
		}
		for line := range strings.Lines(u.Answer) {
			fmt.Fprintf(w, "    | %s\n", diag.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	if s := r.Research; s != nil {
		fmt.Fprintf(w, "L4 research\n  %s: %s\n", diag.Clean(s.Topic), s.Report+s.Error)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "problem: %s\n", diag.Clean(p))
	}
}

func (r *Repository) writeText(w io.Writer) {
	fmt.Fprintf(w, "L2 repository\n  commit %s %s\n", diag.Short(r.Commit), diag.Clean(r.Branch))
	for _, a := range r.Artifacts {
		state := fmt.Sprintf("%d bytes, %d commits since", a.Bytes, a.Behind)
		if a.Behind < 0 {
			state = fmt.Sprintf("%d bytes", a.Bytes)
		}
		if a.Error != "" {
			state = a.Error
		}
		fmt.Fprintf(w, "  %s: %s\n", diag.Clean(a.Path), diag.Clean(state))
	}
	if r.PostMortem != "" {
		fmt.Fprintf(w, "  last post-mortem: %s\n", diag.Clean(r.PostMortem))
		quote(w, r.LastWords)
	}
	for _, e := range r.Earlier {
		fmt.Fprintf(w, "  earlier unit %s\n", diag.Clean(e.Unit))
		if e.Learnings != "" {
			fmt.Fprintf(w, "   its learnings:\n")
			quote(w, e.Learnings)
		}
		if e.PostMortem != "" {
			fmt.Fprintf(w, "   its %s:\n", diag.Clean(e.PostMortem))
			quote(w, e.LastWords)
		}
	}
	from := max(0, len(r.Lessons)-maxListed)
	if from > 0 {
		fmt.Fprintf(w, "  %d older lessons: git ward lesson list --all\n", from)
	}
	for _, l := range r.Lessons[from:] {
		fmt.Fprintf(w, "  lesson %s (%s, %s): %s\n", l.ID, diag.Clean(l.TaskID), l.Status, l.Lesson)
	}
}

// quote writes others' text as such.
func quote(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(w, "    | %s\n", diag.Clean(strings.TrimRight(line, "\r\n")))
	}
}

func (e *Environment) writeText(w io.Writer) {
	fmt.Fprintf(w, "L3 environment\n  fence: %s\n", e.Fence)
	for _, p := range e.Results {
		word := "yes"
		if !p.OK {
			word = "no "
		}
		took := ""
		if p.Took > 0 {
			took = " (" + p.Took.Round(10*time.Microsecond).String() + ")"
		}
		detail := ""
		if p.Detail != "" {
			detail = ": " + p.Detail
		}
		fmt.Fprintf(w, "  %s  %s, %s%s%s\n", word, p.Area, diag.Clean(p.What), diag.Clean(detail), took)
	}
}
