package prompt

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestSkills(t *testing.T) {
	files := map[string]string{"skills/prime-coder.md": "Look \x1b[31mfirst.\n"}
	pack := []string{"prime-safety", "prime-coder", "gone"}
	for i := range 7 {
		name := fmt.Sprintf("large-%d", i)
		files["skills/"+name+".md"], pack = strings.Repeat("x", maxSkill), append(pack, name)
	}
	list, err := Skills(pack, func(path string, limit int64) ([]byte, error) {
		if text, there := files[path]; there {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	})
	if len(list) != 6 || list[0].Name != "prime-coder" || strings.Contains(list[0].Text, "\x1b") {
		t.Errorf("%d skills: %.200v", len(list), list)
	}
	if err == nil || !strings.Contains(err.Error(), "skills/large-5.md") || !strings.Contains(err.Error(), "skills/large-6.md") || strings.Contains(err.Error(), "large-4") {
		t.Errorf("what is not told is not named: %v", err)
	}
}
