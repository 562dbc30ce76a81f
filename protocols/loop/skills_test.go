package loop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestSkillPack(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("s%03d.md", i))
	}
	for _, c := range []struct {
		files, want []string
	}{
		{nil, []string{"prime-safety", "prime-coder"}},
		{[]string{"phuc-swarms.md", "prime-coder.md", "phuc-loop.md", "prime-safety.md"}, []string{"prime-safety", "prime-coder", "phuc-loop", "phuc-swarms"}},
		{[]string{"技能.md", "go.md", "go.md"}, []string{"prime-safety", "prime-coder", "go", "技能"}},
		{[]string{"README.md", ".md", ".x.md", "a b.md", "a\nb.md", "notes.txt", "sub", strings.Repeat("x", 65) + ".md"}, []string{"prime-safety", "prime-coder"}},
		{many, append([]string{"prime-safety", "prime-coder"}, SkillPack(many)[2:24]...)},
	} {
		if got := SkillPack(c.files); !slices.Equal(got, c.want) {
			t.Errorf("%q is the pack %q, not %q", c.files, got, c.want)
		}
	}
}

// TestSkillsInCapsule rebuilds a capsule from the declaration that the record has: what
// control has by then does not matter.
func TestSkillsInCapsule(t *testing.T) {
	s := sources(t)
	s.Declaration.SkillPack = SkillPack([]string{"phuc-loop.md", "go.md"})
	one, _, found := Build(s)
	if len(found) > 0 || !strings.Contains(string(one), `"skill_pack":["prime-safety","prime-coder","go","phuc-loop"]`) {
		t.Fatalf("%s\n%v", one, found)
	}
	data, err := Encode(s.Declaration)
	if err != nil {
		t.Fatal(err)
	}
	s.Declaration = Declaration{}
	if err := json.Unmarshal(data, &s.Declaration); err != nil {
		t.Fatal(err)
	}
	if two, _, _ := Build(s); string(two) != string(one) {
		t.Errorf("rebuilt it is another:\n%s\n%s", one, two)
	}
	c := Capsule{Goal: "g", Criteria: []string{"c"}, Certificates: []string{Exact}, SkillPack: []string{"prime-coder"}, Role: CycleRole}
	if found := c.Check(); !slices.Contains(found, "skill_pack lacks prime-safety") {
		t.Errorf("a capsule goes without the least of its skills: %q", found)
	}
}
