package orient

import (
	"fmt"
	"io"
	"strings"
	"time"

	"git-ward/agent/lookup"
	"git-ward/internal/diag"
)

// maxListed bounds the lessons that are named; the rest is counted.
const maxListed = 50

// MaxText bounds the text that a prompt holds, in bytes.
const MaxText = 48 << 10

// Text returns the output of WriteText for a prompt. It cuts a longer text to MaxText and says so.
func (r *Report) Text() string {
	var b strings.Builder
	r.WriteText(&b)
	if b.Len() <= MaxText {
		return b.String()
	}
	return diag.Cut(b.String(), MaxText) + "\n[cut; all of it: git ward orient]\n"
}

// WriteText renders the report for a person or a model. It quotes text from the repository and from
// searches, so that it is recognizable as others' text.
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
	if r.About != nil && len(r.About.Hits) > 0 {
		fmt.Fprintf(w, "  what is here about the task:\n")
		writeHits(w, r.About.Hits, r.About.Cut)
	}
	for _, u := range r.Unknowns {
		u.writeText(w)
	}
	if s := r.Research; s != nil {
		fmt.Fprintf(w, "L4 research\n  %s: %s\n", diag.Clean(s.Topic), s.Report+s.Error)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "problem: %s\n", diag.Clean(p))
	}
}

func (u *Unknown) writeText(w io.Writer) {
	from := ""
	if u.From != "" {
		from = " (of " + diag.Clean(u.From) + ")"
	}
	fmt.Fprintf(w, "  unknown%s: %s\n", from, diag.Clean(diag.Cut(strings.Join(strings.Fields(u.Text), " "), maxQuestion)))
	writeHits(w, u.Hits, u.Cut)
	switch {
	case u.Error != "":
		fmt.Fprintf(w, "    the search: %s\n", u.Error)
	case u.Answer != "":
		fmt.Fprintf(w, "    the search says:\n")
		quote(w, u.Answer)
	case len(u.Hits) == 0 && !u.Asked:
		fmt.Fprintf(w, "    nothing here says anything about it, and no search was asked: [search] url of the settings names one\n")
	case len(u.Hits) == 0:
		fmt.Fprintf(w, "    nothing says anything about it\n")
	}
}

// writeHits writes each hit with its position.
func writeHits(w io.Writer, hits []lookup.Hit, cut []string) {
	for _, h := range hits {
		fmt.Fprintf(w, "    %s %s: %s\n", h.Source, h.Place, diag.Clean(h.Text))
	}
	for _, c := range cut {
		fmt.Fprintf(w, "    not searched: %s\n", diag.Clean(c))
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

// quote prefixes each line of others' text with a bar.
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
