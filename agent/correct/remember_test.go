package correct

import (
	"strings"
	"testing"

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
	list[len(list)-2].TaskID = strings.Repeat("x", maxLessonBytes)
	if text, told := Text(list); told != 1 || len(text) > maxLessonBytes {
		t.Errorf("%d told, %d bytes", told, len(text))
	}
}
