package lookup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"git-ward/agent/survey"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/record"
)

// texts are read paragraph by paragraph.
func (f *Finder) texts(_ context.Context, list []*question) string {
	for _, p := range f.Texts {
		for _, part := range strings.Split(p.Body, "\n\n") {
			offer(list, Hit{Source: p.Source, Place: diag.Clean(p.Place), Text: part}, p.Place, part)
		}
	}
	return ""
}

// symbols searches the index's symbols, and adds the files that depend on theirs.
func (f *search) symbols(ctx context.Context, list []*question) string {
	index, err := f.survey()
	if err != nil {
		return "symbols: " + errorText(err)
	}
	for _, s := range index.Symbols.Symbols {
		offer(list, Hit{Source: Symbols, Place: fmt.Sprintf("%s:%d", diag.Clean(s.File), s.Line), Text: s.Kind + " " + s.Name},
			s.File, parts(s.Name)+" "+s.Name)
	}
	for _, e := range index.Graph.Edges {
		name := e.To
		if e.Local != "" {
			name = e.Local
		}
		offer(list, Hit{Source: Dependencies, Place: diag.Clean(e.From), Text: "depends on " + name}, "needs "+e.From, e.To)
	}
	return ""
}

// parts are the words of a name like openDoor.
func parts(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && 'A' <= r && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// documents are the suffixes of prose files.
var documents = map[string]bool{".md": true, ".rst": true, ".txt": true, ".adoc": true, ".org": true, ".html": true, ".tex": true}

// files searches the tracked files: documents by paragraph, others by line.
func (f *search) files(ctx context.Context, list []*question) string {
	index, err := f.survey()
	if err != nil {
		return "files: " + errorText(err)
	}
	paths := index.Tracked
	read := 0
	for i, name := range paths {
		if ctx.Err() != nil || read > maxBytes {
			return fmt.Sprintf("files: %d of %d were not looked at: there was no more time, or too much to read", len(paths)-i, len(paths))
		}
		if survey.Made(name) || strings.HasPrefix(name, "plans/") {
			continue // derived from the rest; a question, not an answer
		}
		data, err := f.Tree.Read(name, maxFile)
		if err != nil || strings.ContainsRune(string(data[:min(len(data), 8000)]), 0) {
			continue // a link, a large file, not text
		}
		read += len(data)
		if documents[strings.ToLower(path.Ext(name))] {
			paragraphs(list, name, string(data))
		} else {
			linesOf(list, name, string(data))
		}
	}
	return ""
}

// paragraphs offers a document's paragraphs, each with its heading, which often alone names
// the subject.
func paragraphs(list []*question, name, text string) {
	source := Documents
	if strings.HasPrefix(name, "postmortems/") || strings.HasPrefix(name, worktree.RecordDir+"/postmortems/") {
		source = PostMortems
	}
	heading, begin, line := "", 0, 0
	var part []string
	flush := func() {
		if whole := strings.Join(part, "\n"); strings.TrimSpace(whole) != "" {
			place := fmt.Sprintf("%s:%d", diag.Clean(name), begin)
			offer(list, Hit{Source: source, Place: place, Text: whole}, name, heading+"\n"+whole)
		}
		part = part[:0]
	}
	for text := range strings.Lines(text) {
		line++
		trimmed := strings.TrimRight(text, "\r\n")
		switch {
		case strings.TrimSpace(trimmed) == "":
			flush()
			continue
		case strings.HasPrefix(trimmed, "#"):
			flush()
			heading = trimmed
			continue
		case strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "* "):
			flush() // a table row, a list item
			begin = line
		case len(part) == 0:
			begin = line
		}
		part = append(part, trimmed)
	}
	flush()
}

// linesOf offers each line of code or data.
func linesOf(list []*question, name, text string) {
	line := 0
	for text := range strings.Lines(text) {
		line++
		if len(text) > 2 && len(text) < 4096 {
			offer(list, Hit{Source: Files, Place: fmt.Sprintf("%s:%d", diag.Clean(name), line), Text: text}, name, text)
		}
	}
}

// history searches the messages of the branch's newest commits.
func (f *Finder) history(ctx context.Context, list []*question) string {
	out, err := f.Tree.Git(ctx, "log", "-z", fmt.Sprintf("--max-count=%d", maxCommits), "--no-show-signature", "--no-notes", "--format=%H%n%cs%n%B", "HEAD", "--")
	if err != nil {
		return "history: " + errorText(err)
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		lines := strings.SplitN(entry, "\n", 3)
		if len(lines) == 3 && !strings.Contains(lines[2], "\n"+record.TrailerStep+": ") { // a step's message says what was asked
			offer(list, Hit{Source: History, Place: "commit " + diag.Short(lines[0]), Text: lines[1] + " " + lines[2]}, lines[0], lines[2])
		}
	}
	return ""
}

func errorText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "there was no more time"
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return diag.Clean(first)
}
