package correct

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/gittest"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
)

// TestText: the newest come first, and no more than a prompt holds.
func TestText(t *testing.T) {
	if text, told := Text(nil, nil); text != "" || told != 0 {
		t.Errorf("%q", text)
	}
	list := make([]lesson.Lesson, maxLessons+5)
	for i := range list {
		list[i].ID = "L-old"
	}
	list[len(list)-1].ID = "L-new"
	text, told := Text(list, nil)
	if new, old := strings.Index(text, "L-new"), strings.Index(text, "L-old"); told != maxLessons || new < 0 || old < new {
		t.Errorf("%d told:\n%.300s", told, text)
	}
}

// TestTextInTurn: a directive whose lessons are long, many and dated in the future leaves room
// for another's.
func TestTextInTurn(t *testing.T) {
	list := []lesson.Lesson{{ID: "L-theirs", TaskID: "D-2", Date: "2026-11-21"}}
	for range maxLessons {
		list = append(list, lesson.Lesson{ID: "L-flood", TaskID: strings.Repeat("x", maxLessonBytes), Date: "9999-12-31", Lesson: diag.Untrusted(strings.Repeat("x", 2*maxLessonBytes))})
	}
	text, told := Text(list, nil)
	if theirs := strings.Index(text, "L-theirs"); theirs < 0 || theirs > 2*maxLesson || told < 10 || len(text) > maxLessonBytes+200 {
		t.Errorf("%d told, %d bytes, D-2's at %d", told, len(text), theirs)
	}
}

// TestOneIDOfTwo: a lesson of the same id, whose 48 bits can be found, takes no other
// directive's place in the memory, whichever note is read first.
func TestOneIDOfTwo(t *testing.T) {
	of := func(task string, status lesson.Status) []byte {
		return lesson.Format([]lesson.Lesson{{ID: "L-441ed3a8ad35", TaskID: task, Date: "2026-11-21", Lesson: diag.Untrusted("by " + task),
			Action: lesson.Action{Type: lesson.None}, Status: status}})
	}
	m := memory{at: map[ownID]int{}}
	for _, note := range [][]byte{of("D-2", lesson.Noted), of("D-1", lesson.Pending), of("D-1", lesson.Noted)} {
		m.note(note)
	}
	if len(m.list) != 2 || m.list[0].TaskID != "D-2" || m.list[1].Lesson != "by D-1" || m.list[1].Status != lesson.Noted {
		t.Errorf("%+v", m.list)
	}
}

// TestRememberInTurn: a directive that brings more lessons than are read takes no room from
// another's, wherever git keeps the notes and however old those are; what was not read is named.
func TestRememberInTurn(t *testing.T) {
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "--quiet")
	var in strings.Builder
	push := func(n int, directive, trailer, to string) {
		data := lesson.Format([]lesson.Lesson{{ID: fmt.Sprintf("L-%012x", n), TaskID: directive, Date: "2026-11-21", Lesson: diag.Untrusted("by " + directive), Action: lesson.Action{Type: lesson.None}, Status: lesson.Noted}})
		message := fmt.Sprintf("Notes added by push %d%s\n", n, trailer)
		fmt.Fprintf(&in, "commit %s\ncommitter Ward <ward@localhost> %d +0000\ndata %d\n%s", lesson.Ref, 1_700_000_000+n, len(message), message)
		for i := range 11 {
			fmt.Fprintf(&in, "M 100644 inline %s/%02x/%036x\ndata %d\n%s\n", to, i, n, len(data), data)
			if directive != "D-1" {
				break
			}
		}
	}
	of := func(directive string) string { return "\n\n" + lesson.TrailerOf + ": " + directive }
	push(1, "D-2", of("D-2"), "ff")
	push(2, "D-3", "", "ff") // by who brought several directives'
	for n := range maxPushes {
		push(3+n, "D-1", of("D-1"), fmt.Sprintf("%02x", n%255))
	}
	load := exec.Command("git", "-C", dir, "fast-import", "--quiet")
	load.Stdin = strings.NewReader(in.String())
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, left, err := Remember(t.Context(), &worktree.Tree{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	newest := ""
	for _, l := range list {
		said[l.TaskID]++
		newest = max(newest, l.ID)
	}
	if said["D-2"] != 1 || said["D-3"] != 1 || said["D-1"] < 1000 || newest != fmt.Sprintf("L-%012x", 2+maxPushes) {
		t.Errorf("%v, the newest %s", said, newest)
	}
	if left["D-1"] < 1000 || len(left) != 1 || !strings.Contains(left.String(), " of D-1") {
		t.Errorf("left: %v", left)
	}
	if text, _ := Text(list, left); !strings.Contains(text, "not read for want of room, by pushes or notes: "+left.String()) {
		t.Errorf("%.300s", text)
	}
}
