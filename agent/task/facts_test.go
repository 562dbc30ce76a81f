package task

import (
	"strings"
	"testing"
	"time"

	"git-ward/protocols/lesson"
)

// TestFacts: each iteration adds what was seen of it, no section is empty, and words of a
// program are no headings and no lessons.
func TestFacts(t *testing.T) {
	w, _ := tree(t, nil)
	began := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	first := Facts{Worker: "codex", Iteration: "1", Began: began, Took: 61 * time.Second, Changes: []string{"A\ta.go", "M\tb.go"}, Used: ", 3 calls of tools,",
		Failed: []string{"command_execution: exit 1"}, Words: "## 4. Corrective Actions & Lessons Learned\n1. **Lesson:** x\n   **Action:** y"}
	path, err := WriteFacts(t.Context(), w, "D-1", first)
	if err != nil {
		t.Fatal(err)
	}
	told, err := w.Read(path, lesson.MaxPostMortem)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a run that was killed says it again
		told = []byte(AddVerdict(string(told), "D-1.1, iteration 1", "NONE, not met: it works"))
	}
	if err := w.Write(path, told); err != nil {
		t.Fatal(err)
	}
	second := Facts{Worker: "codex", Iteration: "2", Began: began, End: "It was stopped."}
	if again, err := WriteFacts(t.Context(), w, "D-1", second); err != nil || again != path {
		t.Fatal(again, err)
	}
	data, err := w.Read(path, lesson.MaxPostMortem)
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Post-mortem of D-1

**Task ID:** D-1
**Date:** 2026-11-21
**Written by:** Ward, from the facts

## 1. What was done

Iteration 1: codex worked for 1m1s, 3 calls of tools, and changed 2 paths.

    A a.go
    M b.go

Its last words:

> ## 4. Corrective Actions & Lessons Learned
> 1. **Lesson:** x
>    **Action:** y

Iteration 2: codex worked for 0s and changed nothing.

## 2. What went well

Iteration 1: it came to its own end.

## 3. What went wrong, and why

Iteration 1: 1 use of tools failed:

    command_execution: exit 1

Iteration 2: It was stopped.

## 4. Corrective Actions & Lessons Learned

The worker named none.

## 5. What the host found

- D-1.1, iteration 1: NONE, not met: it works
- D-1.1, iteration 2: EXACT, every criterion is met
`
	if data = []byte(AddVerdict(string(data), "D-1.1, iteration 2", "EXACT, every criterion is met")); string(data) != want {
		t.Errorf("%s", data)
	}
	if lessons, _ := lesson.Extract(path, data); len(lessons) != 0 {
		t.Errorf("words of a program are taken for lessons: %+v", lessons)
	}
}

// TestFactsLeaveTheWorkersOwn: a post-mortem that somebody wrote stays; a template that
// nobody filled in does not.
func TestFactsLeaveTheWorkersOwn(t *testing.T) {
	w, log := tree(t, nil)
	f := Facts{Worker: "codex", Began: time.Now()}
	path, err := Close(t.Context(), w, "D-1", "", log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := WriteFacts(t.Context(), w, "D-1", f); err != nil {
		t.Fatal(err)
	}
	if data, _ := w.Read(path, 1<<20); !strings.Contains(string(data), "codex worked for") {
		t.Errorf("the template stays empty:\n%s", data)
	}
	own := "# Post-mortem of D-1\n\n## 3. What went wrong, and why\n\nI began too soon.\n"
	if err := w.Write(path, []byte(own)); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteFacts(t.Context(), w, "D-1", f); err != nil {
		t.Fatal(err)
	}
	if data, _ := w.Read(path, 1<<20); string(data) != own {
		t.Errorf("%s", data)
	}
	const told = "\n## 5. What the host found\n\n- D-1.1, iteration 0: NONE\n"
	if with := AddVerdict(own, "D-1.1, iteration 0", "NONE"); with != own+told {
		t.Errorf("%s", with)
	}
	if with := AddVerdict("# P\n"+told+"\n## 6. More\n\nx\n", "D-1.1, iteration 1", "EXACT"); with != "# P\n"+told+"- D-1.1, iteration 1: EXACT\n\n## 6. More\n\nx\n" {
		t.Errorf("%s", with)
	}
}

// TestEndIsNoStructure: neither are the words in why a worker stopped, such as a question
// of its own.
func TestEndIsNoStructure(t *testing.T) {
	w, _ := tree(t, nil)
	f := Facts{Worker: "codex", Iteration: "0", Began: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		End: "it asks the PM: this or that?\n## 4. Corrective Actions & Lessons Learned\n1. **Lesson:** x\n   **Action:** update rule 'a' in protocol 'b' to 'c'"}
	for range 2 {
		path, err := WriteFacts(t.Context(), w, "D-1", f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := w.Read(path, lesson.MaxPostMortem)
		if err != nil {
			t.Fatal(err)
		}
		if list, found := lesson.Extract(path, data); len(list) != 0 || strings.Count(string(data), "\n## 4. ") != 1 {
			t.Errorf("%v %v\n%s", list, found, data)
		}
	}
}
