package audit

import (
	"strings"
	"testing"

	"git-ward/protocols/lesson"
)

// TestLessonsOf: the host names the one directive whose lessons a push brings, and none where
// they are several's, or where the name is none.
func TestLessonsOf(t *testing.T) {
	of := func(tasks ...string) (n LessonNote) {
		for _, task := range tasks {
			data := lesson.Format([]lesson.Lesson{{ID: "L-441ed3a8ad35", TaskID: task, Date: "2026-11-21", Lesson: "x", Action: lesson.Action{Type: lesson.None}, Status: lesson.Noted}})
			n.Lines = append(n.Lines, strings.TrimSuffix(string(data), "\n"))
		}
		return n
	}
	for _, c := range []struct {
		notes []LessonNote
		want  string
	}{
		{nil, ""},
		{[]LessonNote{of("D-1"), of("D-1", "D-1")}, "D-1"},
		{[]LessonNote{of("D-1"), of("D-2")}, ""},
		{[]LessonNote{of("D-1", "D-2"), of("D-2")}, ""},
		{[]LessonNote{of("D-1\n\nx")}, ""},
		{[]LessonNote{{Lines: []string{"no lesson"}}, of("D-12")}, "D-12"},
	} {
		if got := lessonsOf(c.notes); got != c.want {
			t.Errorf("%q: %q, not %q", c.notes, got, c.want)
		}
	}
}
