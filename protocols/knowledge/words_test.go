package knowledge

import (
	"strings"
	"testing"
)

// TestWords: the words of a question in any script; what says nothing is left out.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"How do we limit the Rate of open_door() calls?": "limit rate open_door open door calls",
		"Store.Get is slow; see D-1, 2026":               "store.get store slow see",
		"почему медленно работает поиск":                 "почему медленно работает поиск",
		"لماذا البحث بطيء":                               "لماذا البحث بطيء",
		"检索速度":                                           "检索 索速 速度",
		"限":                                              "限",
		"HTTP限制go":                                       "http 限制",
		"यह धीमा क्यों है":                               "यह धीमा क्यों है",
		"Let openBolt and HTTPServer be":                 "openbolt open bolt httpserver",
		"":                                               "",
		"the of 1 22 ...":                                "",
		"don't can’t":                                    "don't don can’t",
	} {
		if got := strings.Join(Words(text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if n := len(Words(strings.Repeat("word", 3) + strings.Repeat(" α", 3) + " " + strings.Join(strings.Split(strings.Repeat("abcdefghij", 40), "d"), "x "))); n > MaxWords {
		t.Error(n)
	}
	for word, want := range map[string]string{"limits": "limit", "limiting": "limit", "cache": "cach", "поиск": "поиск", "bus": "bus"} {
		if got := Stem(word); got != want {
			t.Errorf("%s: %s", word, got)
		}
	}
}
