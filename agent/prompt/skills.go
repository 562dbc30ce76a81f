package prompt

import (
	"errors"
	"fmt"
	"io/fs"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// Skill is one way of working that the loop wants known (003, skill_pack).
type Skill struct{ Name, Text string }

// The limits of skills in a prompt, in bytes.
const (
	maxSkill  = 8 << 10
	maxSkills = 48 << 10 // in sum
)

// Skills reads a pack's skills, where control has them, by a reader of its files. The
// error says which ones it has and are not told; the list holds the others.
func Skills(pack []string, read func(path string, limit int64) ([]byte, error)) (list []Skill, err error) {
	size := 0
	for _, name := range pack {
		text, bad := read(loop.SkillPath(name), maxSkill)
		switch {
		case errors.Is(bad, fs.ErrNotExist):
		case bad != nil:
			err = errors.Join(err, bad)
		case size+len(text) > maxSkills:
			err = errors.Join(err, fmt.Errorf("%s: a prompt holds at most %d KiB of skills", loop.SkillPath(name), maxSkills>>10))
		default:
			size += len(text)
			list = append(list, Skill{Name: name, Text: diag.CleanLines(string(text))})
		}
	}
	return list, err
}
