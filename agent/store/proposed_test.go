package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/lesson"
	"git-ward/protocols/uow"
)

// TestProposedOnce: units that all see that the policy is too wide propose it on one branch,
// also where each made its analysis before that branch was there. What was dropped is not
// proposed again; what another policy asks for is, and what is about one unit is each time.
func TestProposedOnce(t *testing.T) {
	tier.First(t, "it pushes branches of lessons")
	s := newStore(t)
	if _, err := s.Main(t.Context()); err != nil {
		t.Fatal(err)
	}
	policy := uow.DefaultPolicy()
	policy.MaxInteractions = 200
	earlier := []uow.Summary{{Interactions: 3, Longest: 3}, {Interactions: 4, Longest: 4}, {Interactions: 3, Longest: 2}}
	quiet := uow.Summary{State: uow.Completed, Interactions: 3, Longest: 3}
	proposals := func(s *Store, p uow.Policy, more ...uow.Proposal) []uow.Proposal {
		t.Helper()
		list, err := s.Unproposed(t.Context(), append(uow.Analyze(quiet, p, earlier), more...))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	seen := proposals(s, policy)
	if len(seen) != 1 {
		t.Fatalf("%+v", seen)
	}
	branches := func() string {
		t.Helper()
		return strings.Join(strings.Fields(run(t, s.Bare, "", "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/agent/")), " ")
	}
	learn := func(id int, list []uow.Proposal) {
		t.Helper()
		w, err := s.Work(t.Context(), comms.Directive{ID: id})
		if err == nil {
			err = w.Begin(t.Context(), nil, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		unit := uow.ID{Directive: w.Directive.Name(), K: 1}
		dir := filepath.Join(w.Dir(), ".ward", "postmortems")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "# Refinement of " + unit.String() + "\n\n**Task ID:** " + unit.Directive + "\n**Date:** 2026-11-22\n\n" +
			uow.RefinementText(uow.Summary{ID: unit.String(), State: uow.Completed}, list, earlier)
		if err := os.WriteFile(filepath.Join(dir, "2026-11-22-"+unit.String()+".md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a run that was killed does it again
			if _, err := w.Learn(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	for id := range 3 {
		learn(id+1, seen)
	}
	if got := branches(); got != "agent/D-1-lessons" {
		t.Errorf("branches of lessons: %s", got)
	}
	if got := proposals(s, policy); len(got) != 0 {
		t.Errorf("proposed again: %+v", got)
	}
	own := uow.Proposal{Lesson: "D-4.1 spun", Action: "the PM says what the first step is"}
	if got := proposals(s, policy, own); len(got) != 1 || got[0] != own {
		t.Errorf("%+v", got)
	}
	learn(4, []uow.Proposal{seen[0], own})
	if data := run(t, s.Bare, "", "cat-file", "-p", "agent/D-4-lessons:"+lesson.Path); strings.Count(data, "\n") != 0 || !strings.Contains(data, "spun") {
		t.Error(data)
	}

	// A broken branch hinders nobody; what was dropped is on record.
	tip := run(t, s.Bare, "", "rev-parse", "agent/D-1-lessons")
	run(t, s.Bare, run(t, s.Bare, "", "cat-file", "-p", tip+":"+lesson.Path)+"\n", "-c", "user.name=a", "-c", "user.email=a", "notes", "--ref=lessons", "add", "-F", "-", tip)
	run(t, s.Bare, "", "update-ref", "-d", "refs/heads/agent/D-1-lessons")
	blob := run(t, s.Bare, "x", "hash-object", "-w", "--stdin")
	run(t, s.Bare, "", "update-ref", "refs/heads/agent/D-1-lessons", run(t, s.Bare, "x\n", "commit-tree",
		run(t, s.Bare, "100644 blob "+blob+"\tknowledge_core\n", "mktree")))
	if got := proposals(s, policy); len(got) != 0 {
		t.Errorf("proposed again when it was dropped: %+v", got)
	}
	policy.MaxInteractions = 100
	if got := proposals(s, policy); len(got) != 1 {
		t.Errorf("another policy: %+v", got)
	}
}
