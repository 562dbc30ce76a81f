package judge

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// TestJudgeBegun: work that begins from a commit of the project's that was old when its unit
// became active is judged on the project as it was then: the checks of a day ago do not decide.
// What the project took since then does not decide either, unless the work begins there.
func TestJudgeBegun(t *testing.T) {
	tier.First(t, "it judges many claims")
	t.Parallel()
	c := newCourt(t, makes)
	pm := func(at time.Duration, makefile string) string {
		c.at = at
		c.write("Makefile", makefile)
		c.pushMain()
		return c.head()
	}
	hollow := pm(-5*time.Hour, "check:\n\tgrep -qv 40 answer\n")
	checks := pm(-4*time.Hour, "check:\n\tsh check.sh\n")
	c.at = -3 * time.Hour
	c.host("update-ref", "-d", uow.RefPrefix+c.unit.String())
	c.begin(c.unit, c.directive)
	later := pm(-2*time.Hour, "check:\n\tsh check.sh # and more\n")
	last := pm(-time.Hour, "check:\n\tsh check.sh # and the last\n")
	for _, trial := range []struct {
		what, from, answer, base, verdict string
	}{
		{"an old commit, whose check holds", hollow, "41", checks, loop.None},
		{"an old commit, honest", hollow, "42", checks, loop.Exact},
		{"the project as it was", checks, "42", checks, loop.Exact},
		{"where the project came since", later, "42", later, loop.Exact},
		{"the project as it is", last, "42", last, loop.Exact},
	} {
		c.at = 0
		c.git("reset", "--quiet", "--hard", trial.from)
		c.write("answer", trial.answer+"\n")
		v := c.verdicts(c.claim())[0]
		if v.Base != trial.base || v.Verdict != trial.verdict {
			t.Errorf("%s: %s on %s, want %s on %s: %s", trial.what, v.Verdict, v.Base, trial.verdict, trial.base, v.Reason)
		}
	}
	// A host without its logs, as one that was restored, knows only the project as it stands.
	c.git("reset", "--quiet", "--hard", checks)
	c.write("answer", "42\n")
	for _, log := range []string{uow.RefPrefix + c.unit.String(), "refs/heads/main"} {
		path := filepath.Join(c.bare, "logs", log)
		if err := os.Rename(path, path+".aside"); err != nil {
			t.Fatal(err)
		}
		claim := ClaimOf(&c.directive, c.Settings, checks, last)
		claim.Base = checks
		if base, err := NotBefore(t.Context(), c.Repo, c.Settings.Control, claim, c.unit.String()); err != nil || base != last {
			t.Errorf("without the log of %s: %s %v", log, base, err)
		}
		if err := os.Rename(path+".aside", path); err != nil {
			t.Fatal(err)
		}
	}
}
