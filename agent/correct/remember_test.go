package correct

import (
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/protocols/lesson"
)

// TestText: the newest come first, and no more than a prompt holds.
func TestText(t *testing.T) {
	if text, told := Text(nil); text != "" || told != 0 {
		t.Errorf("%q", text)
	}
	list := make([]lesson.Lesson, maxLessons+5)
	for i := range list {
		list[i].ID = "L-old"
	}
	list[len(list)-1].ID = "L-new"
	text, told := Text(list)
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
	text, told := Text(list)
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
