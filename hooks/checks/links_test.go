package checks_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

// TestLinksSpent: where the names that are looked up in one push are spent, each link behind that
// is refused, and says why; what can be seen without a look is said as ever. A merge excuses none
// of them by what the branch had before. People, who are only warned, hear once that no more are
// followed.
func TestLinksSpent(t *testing.T) {
	const depth, within = 50, 4000 // maxFollowed is 200,000
	down := strings.Repeat("d/", depth-1) + "d"
	const spent = `, by more names than are looked up in one push`
	links := func(commit string) string {
		var all strings.Builder
		for n := range within {
			fmt.Fprintf(&all, "-- %s/l%04d link --\n%s\n", commit, n, down)
		}
		for name, target := range map[string]string{"m1": "README.md", "m2": down + "/../.git", "m3": "d/.git", "m4": ".git/hooks", "m5": "nothing", "m6": "../x"} {
			fmt.Fprintf(&all, "-- %s/%s link --\n%s\n", commit, name, target)
		}
		return all.String()
	}
	fenced := map[string]string{
		"m1": `the link leads to "README.md"` + spent, "m2": `the link leads to "` + diag.Cut(down+"/../.git", 200) + `", out of its own directory`,
		"m3": `the link leads to "d/.git"` + spent, "m4": `the link leads to ".git/hooks", into .git`,
		"m5": `the link leads to "nothing"` + spent, "m6": `the link leads to "../x", out of its own directory`,
	}
	people := map[string]string{
		"m1": `the link leads to "README.md"` + spent + ": neither it nor any link behind it is followed",
		"m4": `the link leads to ".git/hooks", into .git`,
	}
	main := "-- main/COMMS.md --\n# COMMS\n\n## Directives\n\n## Reports\n-- main/README.md --\na project\n-- main/" + down + "/x --\nx\n"
	for name, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"a commit": {"by agent\npush refs/heads/agent/topic\n" + main + links("push"), fenced},
		"a merge": {"by agent\npush refs/heads/agent/topic\nref refs/heads/agent/topic topic\nparents topic main\nparents push topic main2\n" +
			main + "-- main2/other --\nof main\n" + links("topic") + "-- push/other --\nof main\n", fenced},
		"a person's": {"by pm\n" + main + links("push"), people},
	} {
		file := filepath.Join(t.TempDir(), "push.txtar")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, p := parseFixture(t, file).make(t)
		got := map[string]string{}
		for _, d := range s.judge(p).Findings {
			got[d.Pos.Path] += d.Message
			if d.Rule != "link/target" || d.Hint == "" {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: findings of %d links: %.2000q, want %q", name, len(got), got, c.want)
		}
	}
}
