package loop

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// SkillsDir is the control branch's directory of skills, one file NAME.md each.
const SkillsDir = "skills"

// The limits of a pack. They are low because every subagent of every iteration reads the capsule.
const (
	maxSkills    = 24
	maxSkillName = 64 // bytes
)

// leastSkills are in every pack (003, section 4.1), in the order in which they are loaded.
var leastSkills = []string{"prime-safety", "prime-coder"}

// SkillPack returns the skills that every subagent must load: leastSkills, then the control branch's
// own. files are the names of the files in SkillsDir, in any order, with or without duplicates.
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

// skillName reports whether name is allowed for a skill. README is not: that file is for people.
func skillName(name string) bool {
	return name != "" && name != "README" && len(name) <= maxSkillName && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
}

// SkillPath returns the path of a skill's file in the control branch's tree.
func SkillPath(name string) string { return path.Join(SkillsDir, name+".md") }

// skills returns the declaration's pack. Declarations of earlier versions have none, which means
// leastSkills.
func (p Declaration) skills() []string {
	if len(p.SkillPack) == 0 {
		return slices.Clone(leastSkills)
	}
	return p.SkillPack
}
