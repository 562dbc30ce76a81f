package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
)

// Facts are what a post-mortem is made of where the worker wrote none: what was seen of
// its work from outside, and its own last words (WORK-1).
type Facts struct {
	Worker    string // such as "claude-code"
	Iteration string // of the loop, such as "0"; "" without one
	Began     time.Time
	Took      time.Duration
	Changes   []string // "M\tpath", as git lists them
	Used      string   // calls and tokens, in words; "" where nothing was counted
	Failed    []string // failed tool calls, in words
	End       string   // why it did not come to its own end, "" where it did
	Words     string   // its last ones
}

// byWard marks a post-mortem written by Ward alone: the next iteration adds to it, but not to
// a worker's own.
const byWard = "**Written by:** Ward, from the facts"

// The headings of a post-mortem, in order.
var headings = []string{"## 1. What was done", "## 2. What went well", "## 3. What went wrong, and why", "## 4. " + lesson.Section}

// The text of an empty section.
var nothing = []string{"Nothing.", "Nothing that Ward could see.", "Nothing that Ward could see.", "The worker named none."}

const (
	maxChanges = 100     // listed one by one
	maxWords   = 4 << 10 // bytes of the final text
	maxFailed  = 10      // tool calls, the newest
)

// WriteFacts puts facts into the task's post-mortem below a directory of the record in the
// working tree, and returns its path there. One that the worker has written stays as it
// is.
func WriteFacts(ctx context.Context, tree *worktree.Tree, id string, f Facts) (string, error) {
	path, err := tree.RecordPath(ctx, PostMortemPath(f.Began, id))
	if err != nil {
		return "", err
	}
	path = left(tree, path, id)
	data, err := tree.Read(path, lesson.MaxPostMortem)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = nil
	case err != nil:
		return "", err
	case !strings.Contains(string(data), byWard) && filled(string(data)):
		return path, nil
	}
	sections := takeApart(string(data))
	for i, text := range f.sections() {
		sections[i] = strings.TrimSpace(strings.TrimPrefix(sections[i], nothing[i]) + "\n\n" + text)
		if sections[i] == "" {
			sections[i] = nothing[i]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Post-mortem of %s\n\n**Task ID:** %s\n**Date:** %s\n%s\n", id, id, f.Began.UTC().Format(time.DateOnly), byWard)
	for i, heading := range headings {
		fmt.Fprintf(&b, "\n%s\n\n%s\n", heading, sections[i])
	}
	b.WriteString(verdicts(string(data)))
	if b.Len() > lesson.MaxPostMortem {
		return path, nil // the first of many iterations are enough
	}
	return path, tree.Write(path, []byte(b.String()))
}

// left is the path of the task's uncompleted post-mortem template, perhaps from another day;
// without one it is path.
func left(tree *worktree.Tree, path, id string) string {
	dir := path[:strings.LastIndexByte(path, '/')]
	list, err := tree.Walk(dir, func(name string) bool {
		return strings.HasSuffix(name, "-"+id+".md") && len(name) == len(path)
	})
	if err != nil {
		return path // there is none
	}
	for _, name := range slices.Backward(list) {
		data, err := tree.Read(name, lesson.MaxPostMortem)
		if err == nil && !strings.Contains(string(data), byWard) && !filled(string(data)) {
			return name
		}
	}
	return path
}

// Closes reports whether the task is closed of work that ended so: by itself, or for a
// reason that somebody has to do something about. Any other is gone on with where it is.
func Closes(end error) bool {
	over := stop.Of(end)
	return end == nil || over != nil && slices.Contains([]stop.Kind{stop.Unfinished, stop.Spent, stop.Blocked, stop.Asked}, over.Kind)
}

// Why is the end of work as Facts take it, "" for one of its own.
func Why(end error) string {
	over := stop.Of(end)
	switch {
	case end == nil:
		return ""
	case over == nil:
		return end.Error()
	case over.Kind == stop.Asked:
		return "it asks the PM: " + over.Why
	}
	return strings.TrimSpace(over.Why + "\n\n" + over.Output)
}

// CloseByFacts ends the task of a worker who closes none: its post-mortem, and the two
// lines of the activity log.
func CloseByFacts(ctx context.Context, tree *worktree.Tree, id string, f Facts, log *activity.Log) (string, error) {
	path, err := WriteFacts(ctx, tree, id, f)
	if err != nil {
		return "", err
	}
	return path, closed(id, path, log)
}

// filled reports whether a post-mortem has text below its headings.
func filled(text string) bool {
	for _, section := range takeApart(text)[1:] { // a template says what the plan is in the first one
		if section != "" {
			return true
		}
	}
	return false
}

// takeApart splits a post-mortem by its headings.
func takeApart(text string) []string {
	sections, at := make([]string, len(headings)), -1
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "## ") {
			at = -1
			for i, heading := range headings {
				if strings.TrimSpace(line) == heading {
					at = i
				}
			}
			continue
		}
		if at >= 0 {
			sections[at] += line
		}
	}
	for i := range sections {
		sections[i] = strings.TrimSpace(sections[i])
	}
	return sections
}

// sections are the facts for each heading, "" for none.
func (f Facts) sections() []string {
	in := ""
	if f.Iteration != "" {
		in = "Iteration " + f.Iteration + ": "
	}
	done := fmt.Sprintf("%s%s worked for %s%s and %s.", in, f.Worker, f.Took.Round(time.Second), f.Used, changed(len(f.Changes)))
	if len(f.Changes) > 0 {
		done += "\n"
	}
	for i, change := range f.Changes {
		if i == maxChanges {
			done += fmt.Sprintf("\n    and %d more", len(f.Changes)-i)
			break
		}
		done += "\n    " + diag.Clean(strings.ReplaceAll(change, "\t", " "))
	}
	if words := strings.TrimSpace(f.Words); words != "" {
		done += "\n\nIts last words:\n\n" + quote(diag.CleanLines(diag.Cut(words, maxWords)))
	}
	well, wrong := "", ""
	if f.End == "" {
		well = in + "it came to its own end."
	} else {
		// Below the first line is the worker's or a program's text.
		why, said, more := strings.Cut(diag.CleanLines(strings.TrimSpace(f.End)), "\n")
		if wrong = in + why + "\n"; more {
			wrong += "\n" + quote(said)
		}
	}
	if n := len(f.Failed); n > 0 {
		wrong += fmt.Sprintf("%s%s of tools failed", in, diag.Count(n, "use"))
		if n > maxFailed {
			wrong += fmt.Sprintf("; the last %d", maxFailed)
		}
		wrong += ":\n"
		for _, line := range f.Failed[max(0, n-maxFailed):] {
			wrong += "\n    " + diag.Clean(line)
		}
	}
	return []string{done, well, wrong, ""}
}

func changed(n int) string {
	if n == 0 {
		return "changed nothing"
	}
	return "changed " + diag.Count(n, "path")
}

// quote marks text as somebody's: none of its lines is a heading or a lesson.
func quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n"
}
