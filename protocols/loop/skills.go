package loop

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// SkillsDir is where control has its skills, a file NAME.md each.
const SkillsDir = "skills"

// What bounds a pack: a capsule is read by every subagent of every iteration.
const (
	maxSkills    = 24
	maxSkillName = 64 // bytes
)

// leastSkills is what no pack goes without (003, section 4.1), in the order in which they
// are loaded.
var leastSkills = []string{"prime-safety", "prime-coder"}

// SkillPack is what every subagent must load: the least of it, and the skills that control
// has, given by the names of the files in SkillsDir. In which order those come, and how
// often, changes nothing.
func SkillPack(files []string) []string {
	var others []string
	for _, file := range files {
		name, isText := strings.CutSuffix(file, ".md")
		if isText && skillName(name) && !slices.Contains(leastSkills, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	others = slices.Compact(others)
	return slices.Concat(leastSkills, others[:min(len(others), maxSkills-len(leastSkills))])
}

// skillName reports whether a skill may have a name. README.md tells people of the directory.
func skillName(name string) bool {
	return name != "" && name != "README" && len(name) <= maxSkillName && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
}

// SkillPath is a skill's file in control's tree.
func SkillPath(name string) string { return path.Join(SkillsDir, name+".md") }

// skills is the pack of a declaration, which is the least of it where one was written
// before packs were declared.
func (p Declaration) skills() []string {
	if len(p.SkillPack) == 0 {
		return slices.Clone(leastSkills)
	}
	return p.SkillPack
}
