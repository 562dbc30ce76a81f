package judge

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

// adopt makes the court's repository one that was adopted: the directive is on a branch
// of its own, and what is the project's on main.
func (c *court) adopt() {
	c.t.Helper()
	c.Settings.Control.Branch = "ward"
	c.control(asked, time.Now().Add(-time.Hour))
	c.git("rm", "--quiet", "COMMS.md")
	c.git("commit", "--quiet", "--amend", "--message", "the project")
	c.git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/main")
	c.main = c.head()
}

// control commits a text of the directive to the control branch.
func (c *court) control(directive string, when time.Time) {
	c.t.Helper()
	blob := c.run(c.bare, "# COMMS\n\n## Directives\n\n"+directive+"\n## Reports\n", "git", "hash-object", "-w", "--stdin")
	tree := c.run(c.bare, "100644 blob "+blob+"\t"+comms.Path+"\n", "git", "mktree")
	args := []string{fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", when.Unix()), "git", "commit-tree", "-m", "directive", tree}
	if refs := c.host("for-each-ref", "refs/heads/ward"); refs != "" {
		args = append(args, "-p", "refs/heads/ward")
	}
	c.host("update-ref", "refs/heads/ward", c.run(c.bare, "", "env", args...))
}

// TestJudgeControl: in an adopted project the control branch has the directive and the
// project's branch what decides; the verdict names both commits. A branch that is not
// there is named.
func TestJudgeControl(t *testing.T) {
	t.Parallel()
	c := newCourt(t, asked)
	c.adopt()
	c.write("answer", "42\n")
	c.write("check.sh", "true\n")
	v := c.verdicts(c.claim())[0]
	if v.Verdict != loop.Exact || v.Main != c.main || v.Control != c.host("rev-parse", "refs/heads/ward") || strings.Join(v.LeftWords(), ", ") != "check.sh (changed)" {
		t.Errorf("%+v", v)
	}
	// A text on the project's branch is nobody's directive, and one on the control branch is.
	c.control(strings.Replace(asked, "Find it.", "Find another.", 1), time.Now())
	c.write("COMMS.md", "# COMMS\n\n## Directives\n\n"+asked+"\n## Reports\n")
	if v := c.verdicts(c.claim())[0]; v.Verdict != loop.None || !strings.Contains(v.Reason, "ward has another text of D-1") {
		t.Errorf("%+v", v)
	}
	for _, b := range []string{"ward", "main"} {
		tip := c.host("rev-parse", "refs/heads/"+b)
		c.host("update-ref", "-d", "refs/heads/"+b)
		_, err := ReadHeads(t.Context(), c.Repo, c.Settings.Control)
		var hinted *diag.Hinted
		if err == nil || !strings.Contains(err.Error(), "there is no branch refs/heads/"+b) || !errors.As(err, &hinted) {
			t.Errorf("%s: %v", b, err)
		}
		c.host("update-ref", "refs/heads/"+b, tip)
	}
}

// TestBaseAcross: work that left the project's branch while the directive was what it
// is now is held against what it left; work from before, against the branch as it is.
func TestBaseAcross(t *testing.T) {
	t.Parallel()
	c := newCourt(t, asked)
	c.adopt()
	now := time.Now()
	at := func(age time.Duration) string {
		return fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", now.Add(-age).Unix())
	}
	next := func(age time.Duration) string {
		c.run(c.work, "", "env", at(age), "git", "commit", "--quiet", "--allow-empty", "--message", "the project goes on")
		c.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
		return c.head()
	}
	c.host("update-ref", "-d", "refs/heads/ward")
	old := next(5 * time.Hour)
	when := next(4 * time.Hour)
	c.control(strings.Replace(asked, "Find it.", "Find another.", 1), now.Add(-210*time.Minute))
	c.control(asked, now.Add(-3*time.Hour)) // it has its text since then
	c.control(asked+"\n### D-2: more\n\nMore.\n", now.Add(-150*time.Minute))
	later := next(2 * time.Hour)
	tip := next(time.Hour)
	heads, err := ReadHeads(t.Context(), c.Repo, c.Settings.Control)
	if err != nil || heads.Project != tip {
		t.Fatal(heads, err)
	}
	for from, want := range map[string]string{old: tip, when: when, later: later, tip: tip} {
		c.git("checkout", "--quiet", "--detach", from)
		c.git("commit", "--quiet", "--allow-empty", "--message", "work")
		work := c.head()
		c.git("push", "--quiet", "origin", work+":refs/heads/agent/"+work[:7])
		base, err := Base(t.Context(), c.Repo, verifier.Claim{Commit: work, Main: heads.Project}, heads, &c.directive)
		if err != nil || base != want {
			t.Errorf("from %s: %s, %v; want %s", from, base, err, want)
		}
	}
	// A directive that is not there, and dates that say nothing, hold it to the tip.
	c.directive.ID = 3
	work := c.head()
	if base, err := Base(t.Context(), c.Repo, verifier.Claim{Commit: work, Main: heads.Project}, heads, &c.directive); err != nil || base != tip {
		t.Errorf("%s, %v", base, err)
	}
}

// TestJudgeRecord: a claim at the second layout is one where a commit of the record's
// own line has the claimed commit as its second parent; the verdict names that commit.
func TestJudgeRecord(t *testing.T) {
	t.Parallel()
	c := newCourt(t, asked)
	c.write("answer", "42\n")
	c.git("add", "--all")
	c.git("commit", "--quiet", "--message", "work")
	c.git("push", "--quiet", "origin", "+HEAD:refs/heads/agent/D-1")
	work := c.head()
	empty := c.run(c.bare, "", "git", "mktree")
	commit := func(parents ...string) string {
		args := []string{"commit-tree", "-m", "record", empty}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		return c.host(args...)
	}
	root := commit()
	stray, other, speaks := commit(root, work), commit(root, c.main), commit(root, work)
	stray = commit(stray, work) // not on the record's line
	c.host("update-ref", record.Ref(uow.ID{Directive: "D-1", K: 1}), commit(commit(speaks, other)))
	for _, step := range []struct{ name, record, reason string }{
		{"another commit's", other, "does not have the claimed commit as its second parent"},
		{"a root", root, "does not have the claimed commit as its second parent"},
		{"on no line", stray, "refs/ward/record/D-1.1 does not hold the commit that the claim names"},
		{"not there", strings.Repeat("1", 40), "the commit of the record that the claim names is not there"},
		{"right", speaks, ""},
	} {
		c.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
		c.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: work, Record: step.record})
		all := c.verdicts(work)
		v := all[len(all)-1]
		if v.Record != step.record || (v.Verdict == loop.Exact) != (step.reason == "") || !strings.Contains(v.Reason, step.reason) {
			t.Errorf("%s: %+v", step.name, v)
		}
	}
}

// TestUnheldTrouble: what cannot be read now is trouble, and no verdict, which would be
// for good.
func TestUnheldTrouble(t *testing.T) {
	t.Parallel()
	gone := git.Open(t.TempDir()) // no repository by now
	why, err := unheld(t.Context(), gone, &uow.Record{ID: "D-1.1", Claim: &uow.Claim{Commit: strings.Repeat("1", 40)}})
	if why != "" || err == nil {
		t.Errorf("%q, %v", why, err)
	}
}
