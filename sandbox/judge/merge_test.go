package judge

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// TestJudgeMerge: a merge of proved work with a project that went on has a verdict of its own,
// once, on what the project has by then (PROOF-7).
func TestJudgeMerge(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	c := newCourt(t, asked)
	c.write("answer", "42\n")
	claimed := c.claim()
	if v := c.verdicts(claimed); v[0].Verdict != loop.Exact || v[0].Takes != "" {
		t.Fatalf("%+v", v)
	}
	claim := c.last
	merge := func(on string) string {
		t.Helper()
		c.git("switch", "--quiet", "--detach", on)
		c.git("merge", "--quiet", "--no-ff", "--message", "take it", claimed)
		c.git("push", "--quiet", "--force", "origin", "HEAD:"+uow.TakePrefix+c.unit.String())
		return c.head()
	}
	goOn := func(name, text string) string {
		t.Helper()
		c.git("fetch", "--quiet")
		c.git("switch", "--quiet", "--detach", "origin/main")
		c.write(name, text)
		c.pushMain()
		return c.head()
	}
	for _, step := range []struct{ name, text, verdict string }{
		{"other", "x\n", loop.Exact},
		{"distance.sh", "echo 5\n", loop.None},
	} {
		main := goOn(step.name, step.text)
		commit := merge(main)
		if !c.Asked(t.Context()) {
			t.Errorf("%s: nobody asked for a verdict", step.name)
		}
		list := c.verdicts(commit)
		if len(list) != 1 || c.Asked(t.Context()) {
			t.Fatalf("%s: %+v", step.name, list)
		}
		v := list[0]
		if v.Verdict != step.verdict || v.Takes != claimed || v.Claim != claim.Hash || v.Unit != "D-1.1" || v.Main != main || v.Base != main || !v.Sound() ||
			v.Proves(commit, "D-1.1", c.directive.Hash()) != (step.verdict == loop.Exact) {
			t.Errorf("%s: %+v", step.name, v)
		}
		if none := c.judgeOpen(); !none {
			t.Errorf("%s: it is judged once more", step.name)
		}
	}
	for why, ref := range map[string]string{
		"a unit that there is not":    uow.TakePrefix + "D-9.1",
		"history of nobody's":         uow.TakePrefix + c.unit.String(),
		"a name that is no unit's":    uow.TakePrefix + "x",
		"a unit that claimed nothing": uow.TakePrefix + "D-1.2",
	} {
		commit := merge(goOn("more", why))
		if ref == uow.TakePrefix+c.unit.String() {
			c.git("checkout", "--quiet", "--orphan", "nobodys")
			c.git("commit", "--quiet", "--message", why)
			commit = c.head()
		}
		c.host("update-ref", "-d", uow.TakePrefix+c.unit.String())
		c.git("push", "--quiet", "--force", "origin", commit+":"+ref)
		if c.Asked(t.Context()) {
			t.Errorf("%s is judged", why)
		}
		c.host("update-ref", "-d", ref)
	}
}

// TestJudgeMergeIncluded: the PM's word on a file covers what git merges it to with what the project did
// in that file, and nothing else.
func TestJudgeMergeIncluded(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	const old = "once() { echo \"$1\"; }\n\n# two\n# three\n# four\n"
	const work = old + "twice() { echo \"$1$1\"; }\n"
	blob := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(work), work)))
	c := newCourt(t, strings.Replace(makes, "make check", `. ./lib.sh && test "$(twice a)" = aa`, 1)+"- include: 100644 "+blob+" lib.sh\n")
	c.write("lib.sh", old)
	c.pushMain()
	c.write("lib.sh", work)
	claimed := c.claim()
	if v := c.verdicts(claimed)[0]; v.Verdict != loop.Exact {
		t.Fatalf("%s: %+v", v.Reason, v)
	}
	c.git("switch", "--quiet", "--detach", "origin/main")
	c.write("lib.sh", "# one\n"+old)
	c.pushMain()
	main := c.head()
	for more, want := range map[string]string{"": loop.Exact, "# by hand\n": loop.None} {
		c.git("switch", "--quiet", "--detach", main)
		c.git("merge", "--quiet", "--no-ff", "--message", "take it", claimed)
		c.write("lib.sh", "# one\n"+work+more)
		c.git("commit", "--quiet", "--all", "--amend", "--message", "take it"+more)
		c.git("push", "--quiet", "--force", "origin", "HEAD:"+uow.TakePrefix+c.unit.String())
		if v := c.verdicts(c.head())[0]; v.Verdict != want || v.NotIncluded != (want == loop.None) {
			t.Errorf("%q: %s: %+v", more, v.Reason, v)
		}
	}
}
