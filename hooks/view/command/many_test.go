package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// stream is what git fast-import(1) reads.
type stream struct {
	strings.Builder
	marks int
}

func (s *stream) data(text string) { fmt.Fprintf(s, "data %d\n%s\n", len(text), text) }

// commit begins a commit and returns its mark; its files follow.
func (s *stream) commit(ref, message string, parents ...string) string {
	s.marks++
	fmt.Fprintf(s, "commit %s\nmark :%d\ncommitter w <w@example.org> %d +0000\n", ref, s.marks, benchDay.Unix())
	s.data(message)
	for i, parent := range parents {
		fmt.Fprintf(s, "%s %s\n", []string{"from", "merge"}[min(i, 1)], parent)
	}
	return fmt.Sprintf(":%d", s.marks)
}

func (s *stream) file(name, text string) {
	fmt.Fprintf(s, "M 100644 inline %s\n", name)
	s.data(text)
}

var benchDay = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// many is a guarded repository of n directives that agents have worked on: of each a branch, a
// journal of nine records, a record of three iterations, a verdict and a report. Every other
// one the project has taken. Nothing was pushed, for that takes a second each.
func many(t *testing.T, n int) *gittest.Pair {
	t.Helper()
	p := gittest.New(t)
	var open, said strings.Builder
	for i := range n {
		fmt.Fprintf(&open, "### D-%d: a file of its own\n\nWrite it, with all that is in it.\n\n- [ ] it is there (`test -s f%[1]d`)\n- work: f%[1]d\n\n", i+1)
	}
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n" + open.String() + "## Reports\n"))
	for i, d := range doc.Directives {
		fmt.Fprintf(&said, "\n### R-%d %s D-%d DONE\nDirective: %s\nIt is written.\n", i+1, uow.FormatTime(benchDay), i+1, d.Hash())
	}
	main := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	var s stream
	first := s.commit("refs/heads/main", "directives", main)
	s.file(comms.Path, "# COMMS\n\n## Directives\n\n"+open.String()+"## Reports\n"+said.String())
	work, notes := make([]string, n), make([]string, n)
	for i := range n {
		work[i] = s.commit(fmt.Sprintf("refs/heads/agent/D-%d", i+1), "write the file", first)
		s.file(fmt.Sprintf("f%d", i+1), strings.Repeat(fmt.Sprintf("a line of file %d\n", i+1), 20))
	}
	last := first
	for i := 0; i < n; i += 2 {
		last = s.commit("refs/heads/main", fmt.Sprintf("take D-%d", i+1), last, work[i])
		s.file(fmt.Sprintf("f%d", i+1), strings.Repeat(fmt.Sprintf("a line of file %d\n", i+1), 20))
	}
	p.Run(p.Bare, "git", "config", "fastimport.unpackLimit", "0")
	if out, err := p.Try(p.Bare, nil, s.String(), "git", "fast-import", "--quiet", "--force"); err != nil {
		t.Fatal(out)
	}
	s.Reset()
	tips := strings.Fields(p.Run(p.Bare, "git", "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/agent/"))
	tip := map[string]string{}
	for i := 0; i+1 < len(tips); i += 2 {
		tip[strings.TrimPrefix(tips[i], "refs/heads/agent/")] = tips[i+1]
	}
	for i, d := range doc.Directives {
		notes[i] = s.unit(t, d, tip[d.Name()])
	}
	s.commit(loop.VerdictsRef, "verdicts")
	for i, d := range doc.Directives {
		fmt.Fprintf(&s, "N inline %s\n", tip[d.Name()])
		s.data(notes[i])
	}
	if out, err := p.Try(p.Bare, nil, s.String(), "git", "fast-import", "--quiet", "--force"); err != nil {
		t.Fatal(out)
	}
	p.Run(p.Bare, "git", "pack-refs", "--all")
	return p
}

// unit adds a unit's record and journal, which claims a commit, and returns the verdict on it.
func (s *stream) unit(t *testing.T, d comms.Directive, commit string) string {
	t.Helper()
	id := uow.ID{Directive: d.Name(), K: 1}
	s.commit(record.Ref(id), "iterations")
	for n := range 3 {
		s.file(loop.IterationDir(d.Name(), n)+"/"+loop.TranscriptFile, strings.Repeat("somebody said something\n", 40))
		s.file(loop.IterationDir(d.Name(), n)+"/"+loop.BudgetFile, `{"schema_version":"1.0","iterations":[{"model":{"input":1000,"output":100}}]}`)
	}
	main, found := loop.Main(&d, loop.Base(config.Default().Loop), nil)
	if len(found) > 0 {
		t.Fatal(found)
	}
	p, _, _ := loop.Declare(id.String(), d, loop.Base(config.Default().Loop))
	ran := loop.Trial{Criteria: []loop.Outcome{{Criterion: p.Commands[0].Text, Command: p.Commands[0].Command, Met: true}}}
	verdict := loop.Judge(p, []loop.Trial{ran, ran})
	verdict.Commit, verdict.Fence, verdict.Time, verdict.Iteration = commit, loop.FenceNone, uow.FormatTime(benchDay.Add(time.Hour)), 3
	var last *uow.Record
	var mark []string
	for i, event := range []uow.Event{uow.Open, uow.Activate, uow.Iterate, uow.Iterate, uow.Iterate, uow.MakeClaim, uow.Complete, uow.Refine, uow.Archive} {
		in := uow.Input{Event: event, Actor: uow.Agent, Reason: uow.Reasons(event, uow.Agent)[0], Time: benchDay.Add(time.Duration(i) * 10 * time.Minute)}
		if event == uow.MakeClaim {
			in.Commit, in.Record = commit, strings.Repeat("e", 40)
		}
		r, found := uow.Advance(id, last, in, uow.World{Main: main, Verdict: func(string) bool { return true }})
		if len(found) > 0 {
			t.Fatal(event, found[0].Message)
		}
		data, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		mark = []string{s.commit(id.Ref(), "step", mark...)}
		s.file(uow.File, string(data))
		if last = r; event == uow.MakeClaim {
			verdict.Claim, verdict.Record = r.Hash, r.Claim.Record
		}
	}
	line, err := verdict.Line()
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}
