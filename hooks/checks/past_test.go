package checks_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

// TestJudgePast: each commit of the past has the findings that its own push would have
// had, by whom it would have come; a commit that takes a fault away again has none.
func TestJudgePast(t *testing.T) {
	s := newServer(t)
	files := func(path, text string) *fixtureCommit {
		c := &fixtureCommit{message: "a commit\n", author: pat, committer: pat}
		c.put(path, git.ModeFile, []byte(text))
		return c
	}
	on := func(c *fixtureCommit, parents ...string) *fixtureCommit { c.parents = parents; return c }
	s.commit("root", files(".github/x.yml", "on: push\n"))
	s.commit("secret", on(files("key", "key = \"ghp_"+"16C7e42F292c6912E7710c838347Ae178B4a\"\n"), "root"))
	gone := on(files("key", ""), "secret")
	gone.files["key"] = git.Entry{}
	s.commit("gone", gone)
	s.commit("ci", on(files(".github/x.yml", "on: pull\n"), "gone"))
	s.commit("side", on(files("VERSION", "v2\n"), "gone"))
	s.commit("merge", on(files("evidence/x", "\n"), "ci", "side"))
	s.setRef("refs/heads/trunk", s.ids["merge"])
	names := []string{"root", "secret", "gone", "ci", "side", "merge"}
	var ids []string
	for _, name := range names {
		ids = append(ids, s.ids[name])
	}
	split := config.Default()
	split.Control = config.Control{Branch: "ward", Project: "trunk"}
	own := config.Default()
	own.Control = config.Control{Branch: "trunk", Project: "trunk"}
	own.Hooks.Mode = config.Observe // which the past is not judged by
	for _, test := range []struct {
		who    push.Principal
		config *config.Config
		ref    string
		want   string
	}{
		{push.Member, split, "refs/heads/trunk", "secret:secret/github-pat"},
		{push.Agent, split, "refs/heads/agent/past", "secret:secret/github-pat ci:rights/protected"},
		{push.PM, own, "refs/heads/trunk", "secret:secret/github-pat side:version/semver"},
	} {
		repo := git.Open(s.dir)
		batch := repo.Batch(t.Context())
		i := 0
		var got []string
		err := checks.JudgePast(t.Context(), repo, batch, checks.Past{Principal: test.who, Config: test.config, Ref: test.ref, Commits: ids},
			func(commit string, r *checks.Result) error {
				if commit != ids[i] {
					t.Errorf("%s is not %s", commit, names[i])
				}
				for _, d := range r.Findings {
					if d.IsError() {
						got = append(got, names[i]+":"+d.Rule)
					}
				}
				i++
				return nil
			})
		if err != nil || i != len(ids) || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, %d commits, %v", test.who, err, i, got)
		}
		if err := checks.JudgePast(t.Context(), repo, batch, checks.Past{Principal: test.who, Config: test.config, Ref: test.ref, Commits: ids},
			func(string, *checks.Result) error { return fmt.Errorf("enough") }); err == nil {
			t.Error("the visit's error is lost")
		}
		batch.Close()
	}
}

// TestJudgeLongPast: the bounds of a push hold for each commit of the past, and not for all
// of them together.
func TestJudgeLongPast(t *testing.T) {
	s := newServer(t)
	var ids []string
	for i := range 200 { // several times what is read ahead
		c := &fixtureCommit{message: fmt.Sprintf("commit %d\n", i), author: pat, committer: pat}
		if i > 0 {
			c.parents = []string{fmt.Sprint(i - 1)}
		}
		c.put("file", git.ModeFile, fmt.Appendf(nil, "%d\n", i))
		s.commit(fmt.Sprint(i), c)
		ids = append(ids, s.ids[fmt.Sprint(i)])
	}
	c := config.Default()
	c.Limits.PushSize = 2000 // of a commit with its trees and its file, and not of ten
	repo := git.Open(s.dir)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	err := checks.JudgePast(t.Context(), repo, batch, checks.Past{Principal: push.Member, Config: c, Ref: "refs/heads/trunk", Commits: ids}, func(commit string, r *checks.Result) error {
		if r.Refused() {
			return fmt.Errorf("%s: %v", commit, r.Findings)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
