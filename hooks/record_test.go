package hooks_test

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// aToken has the form of a secret.
const aToken = "key = \"ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a\"\n"

// lone makes a commit without a parent.
func lone(p *gittest.Pair, all files) string {
	p.T.Helper()
	const who = "Pat <pat@example.org> 1700000000 +0000"
	return p.Object("commit", "tree "+rawTree(p, all)+"\nauthor "+who+"\ncommitter "+who+"\n\nroot\n")
}

// on makes a commit of a record: files over its first parent's, and the work.
func on(p *gittest.Pair, add files, before string, work ...string) string {
	p.T.Helper()
	return rawCommit(p, add, "record", append([]string{before}, work...)...)
}

// TestRecordWithItsWork: work, record and claim come in one push or not at all, the record
// goes forward only, and what is wrong in one of them refuses all (REC-2, REC-4).
func TestRecordWithItsWork(t *testing.T) {
	t.Parallel()
	b := newUnits(t)
	p := b.Pair
	main := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	ref := record.Prefix + "D-1.1"
	root := lone(p, files{"LEARNINGS.md": "# Learnings\n"})
	work := rawCommit(p, files{"hello": "hello\n"}, "Say hello", main)
	claimed := on(p, files{"evidence/D-1/loop/iter_0/changes.txt": "A\thello\n"}, root, work)
	refuse := func(want string, refspecs ...string) {
		t.Helper()
		if out, err := p.AgentPush(append([]string{"--atomic"}, refspecs...)...); err == nil || !strings.Contains(out, want) {
			t.Fatalf("want %q: %v\n%s", want, err, out)
		}
	}
	refuse("record/unit: there is no unit D-1.1", root+":"+ref)
	b.step("D-1.1", uow.Input{Event: uow.Open, Actor: uow.Agent, Reason: "DIRECTIVE_OPEN"}, root+":"+ref, "--atomic")
	b.step("D-1.1", uow.Input{Event: uow.Activate, Actor: uow.Agent, Reason: "WORK_STARTED"})
	b.step("D-1.1", uow.Input{Event: uow.Iterate, Actor: uow.Agent, Reason: "ITERATION_STARTED"})
	claim := b.advance("D-1.1", uow.Input{Event: uow.MakeClaim, Actor: uow.Agent, Reason: "WORK_CLAIMED", Commit: work, Record: claimed})
	b.refused("D-1.1", claim, true, "uow/claim: agent/D-1 does not hold", claimed+":"+ref)
	b.refused("D-1.1", claim, true, "uow/claim: "+ref+" does not have", work+":refs/heads/agent/D-1")
	secret := on(p, files{"transcripts/1.txt": aToken}, root, work)
	refuse("secret/github-pat", work+":refs/heads/agent/D-1", secret+":"+ref)
	if out := p.Git("ls-remote", "origin", "refs/heads/agent/*"); out != "" {
		t.Fatal("half of a push entered: " + out)
	}
	data, err := claim.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := b.push("D-1.1", data, true, "--atomic", work+":refs/heads/agent/D-1", claimed+":"+ref); err != nil {
		t.Fatal(out)
	}
	refuse("record/rewrite", "+"+root+":"+ref)
	refuse("record/rewrite", ":"+ref)
	refuse("record/rewrite", "+"+lone(p, files{"LEARNINGS.md": "forked\n"})+":"+ref)
	refuse("rights/ref", claimed+":refs/ward/records/D-1.1")
	if out, err := p.Push(":" + ref); err == nil || !strings.Contains(out, "record/rewrite") {
		t.Fatal(out)
	}
	// A step's work is nowhere but beside the record, and stays.
	step := rawCommit(p, files{"hello": "hi\n"}, "step", work)
	stepped := on(p, nil, claimed, step)
	if out, err := p.AgentPush(stepped + ":" + ref); err != nil {
		t.Fatal(out)
	}
	for _, tip := range []string{claimed, stepped} { // counted whole, and on from there
		if note := p.Run(p.Bare, "git", "notes", "--ref=audit", "show", tip); !strings.Contains(note, `"size":20`) {
			t.Error(note)
		}
	}
	p.Run(p.Bare, "git", "gc", "--quiet", "--prune=now")
	p.Run(p.Bare, "git", "cat-file", "-e", step)
	p.Fsck()
}

// TestKnownToARecordOnly: what the repository has because a record has it, or the work beside
// one, is judged again when it enters a branch, under whatever path, by whomever (GATE-2).
func TestKnownToARecordOnly(t *testing.T) {
	tier.Full(t, "a record and its work are brought in by every way")
	t.Parallel()
	b := newUnits(t)
	p := b.Pair
	main := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	ref := record.Prefix + "D-1.1"
	b.step("D-1.1", uow.Input{Event: uow.Open, Actor: uow.Agent, Reason: "DIRECTIVE_OPEN"})
	root := lone(p, files{"LEARNINGS.md": "# Learnings\n"})
	work := rawCommit(p, files{"conf": aToken}, "work", main)
	tip := on(p, files{"transcripts/conf": aToken, "transcripts/up": "../../etc", "research/ci": "on: push\n"}, root, work)
	allow := func(args ...string) string { // as the PM passes what he knows to be harmless
		t.Helper()
		out, err := p.Try(p.Work, nil, "", "git", append([]string{"push", "-o", "ward.allow=secret/github-pat:conf",
			"-o", "ward.allow=secret/github-pat:transcripts/conf", "origin"}, args...)...)
		if err != nil {
			t.Fatal(out)
		}
		return out
	}
	allow(tip + ":" + ref)
	p.Run(p.Bare, "git", "gc", "--quiet") // packed or loose, it is all known now
	setIdentity(p, "from = \"WARD_USER\"\npm = [\"pat\"]\nmembers = [\"mo\"]")
	member := func(refspec string) (string, error) {
		return p.Try(p.Work, []string{"WARD_USER=mo"}, "", "git", "push", "origin", refspec)
	}
	pm := func(refspec string) (string, error) {
		return p.Try(p.Work, []string{"WARD_USER=pat"}, "", "git", "push", "origin", refspec)
	}
	agent := func(refspec string) (string, error) { return p.AgentPush(refspec) }
	for name, c := range map[string]struct {
		push   func(string) (string, error)
		commit string
		ref    string
		want   string
	}{
		"the work, by the agent":              {agent, work, "agent/D-1", "conf:1:8: secret/github-pat"},
		"the work, by a member":               {member, work, "topic", "conf:1:8: secret/github-pat"},
		"the work, by the PM":                 {pm, work, "topic", "conf:1:8: secret/github-pat"},
		"on top of the work":                  {agent, rawCommit(p, files{"conf": link("-")}, "gone", work), "agent/D-1", "conf:1:8: secret/github-pat"},
		"the record, by the agent":            {agent, tip, "agent/D-1", "transcripts/conf:1:8: secret/github-pat"},
		"the record, by a member":             {member, tip, "topic", "transcripts/conf:1:8: secret/github-pat"},
		"merged":                              {agent, rawCommit(p, nil, "merge", main, tip), "agent/D-1", "transcripts/conf:1:8: secret/github-pat"},
		"a tag of it":                         {member, tip, "../tags/v1", "transcripts/conf:1:8: secret/github-pat"},
		"a blob under another path":           {agent, rawCommit(p, files{"here": aToken}, "blob", main), "agent/D-1", "here:1:8: secret/github-pat"},
		"a blob as a link":                    {agent, rawCommit(p, files{"up": link("../../etc")}, "link", main), "agent/D-1", "up: link/target"},
		"a blob in a protected place":         {agent, rawCommit(p, files{".github/workflows/ci.yml": "on: push\n"}, "ci", main), "agent/D-1", "rights/protected"},
		"a blob in a protected place on main": {agent, rawCommit(p, files{".github/workflows/ci.yml": "on: push\n"}, "ci", main), "main", "rights/protected"},
		"a record by a member":                {member, on(p, nil, tip, main), "../ward/record/D-1.1", "rights/ref"},
		"a journal by a member":               {member, "+" + main, "../ward/uow/D-1.1", "rights/ref"},
		"a deleted record by a member":        {member, "", "../ward/record/D-1.1", "rights/ref"},
	} {
		target := filepath.Join("refs/heads", c.ref)
		if out, err := c.push(c.commit + ":" + target); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: want %q: %v\n%s", name, c.want, err, out)
		}
	}
	// The work beside a record is the agent's to bring within the agent's rights only.
	for name, c := range map[string]struct{ work, want string }{
		"a protected path":  {rawCommit(p, files{".envrc": "x\n"}, "work", main), "rights/protected"},
		"nothing of main's": {lone(p, files{"x": "x\n"}), "rights/merge-base"},
		"a link":            {rawCommit(p, files{"l": link("/etc")}, "work", main), "link/target"},
		"directives":        {rawCommit(p, files{"COMMS.md": "# COMMS\n\n## Directives\n\n### D-1: mine\n\n- [ ] x (`true`)\n\n## Reports\n"}, "work", main), "comms/agent-directives"},
	} {
		if out, err := p.AgentPush(on(p, nil, tip, c.work) + ":" + ref); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: want %q: %v\n%s", name, c.want, err, out)
		}
	}
	p.Fsck()
}

// TestAdoptedMembers: beside a control branch members push the project's branches and tags, with
// files of whatever names; the control branch, records and journals are not theirs (CTRL-1).
func TestAdoptedMembers(t *testing.T) {
	tier.Full(t, "an adopted repository and its members, by many pushes")
	t.Parallel()
	p := newPair(t)
	setIdentity(p, "from = \"WARD_USER\"\npm = [\"pat\"]\nmembers = [\"mo\"]\n[control]\nbranch = \"ward\"")
	control := lone(p, files{"COMMS.md": "# COMMS\n\n## Directives\n\n" + directiveText + "\n## Reports\n"})
	main := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	tip := rawCommit(p, files{"VERSION": "v2\n", "AGENTS.md": "ours\n", "logs/README.md": "x\n", "COMMS.md": "x\n", "evidence/D-1/loop/manifest.json": "x\n"}, "ours", main)
	try := func(who, want string, args ...string) {
		t.Helper()
		out, err := p.Try(p.Work, []string{"WARD_USER=" + who}, "", "git", append([]string{"push", "origin"}, args...)...)
		if (err == nil) != (want == "") || !strings.Contains(out, want) {
			t.Errorf("%s %v: want %q: %v\n%s", who, args, want, err, out)
		}
	}
	try("pat", "", control+":refs/heads/ward")
	try("mo", "", tip+":refs/heads/main", tip+":refs/heads/release/2", tip+":refs/tags/v2", tip+":refs/heads/agent/mine")
	try("mo", "", ":refs/tags/v2", ":refs/heads/release/2")
	try("mo", "rights/ref", tip+":refs/heads/ward", "--force")
	try("mo", "rights/ref", ":refs/heads/ward")
	try("pat", "ref/delete-main: ward cannot be deleted", ":refs/heads/ward")
	try("pat", "rights/histories", rawCommit(p, nil, "merge", tip, control)+":refs/heads/main")
	try("pat", "rights/histories", "+"+control+":refs/heads/main")
	try("mo", "rights/histories", rawCommit(p, nil, "merge", tip, control)+":refs/heads/topic")
	agent := func(want, refspec string) {
		t.Helper()
		if out, err := p.AgentPush(refspec); (err == nil) != (want == "") || !strings.Contains(out, want) {
			t.Errorf("%s: want %q: %v\n%s", refspec, want, err, out)
		}
	}
	report := strings.Replace(p.Git("show", control+":COMMS.md"), "## Reports\n", "## Reports\n\n### R-1 2026-11-21T09:00:00Z D-1 INFO\n\nSeen.\n", 1)
	agent("", rawCommit(p, files{"COMMS.md": report}, "report", control)+":refs/heads/ward")
	agent("rights/main", rawCommit(p, files{"COMMS.md": "mine\n"}, "report", tip)+":refs/heads/main")
	agent("rights/merge-base", control+":refs/heads/agent/D-1")
	agent("rights/histories", rawCommit(p, nil, "merge", tip, control)+":refs/heads/agent/D-1")
	agent("", rawCommit(p, files{"hello": "hello\n"}, "work", tip)+":refs/heads/agent/D-1")
	agent("runtime/ward", rawCommit(p, files{".ward/LEARNINGS.md": "x\n"}, "work", tip)+":refs/heads/agent/D-2")

	// What would be refused is let pass and kept, but for the agent (CTRL-2).
	configtest.Set(t, p.Bare, `[hooks] mode = "observe"`)
	secret := rawCommit(p, files{"conf": aToken}, "secret", tip)
	agent("secret/github-pat", secret+":refs/heads/agent/D-3")
	try("mo", "rights/ref", secret+":refs/heads/ward", "--force")
	out, err := p.Try(p.Work, []string{"WARD_USER=mo"}, "", "git", "push", "origin", secret+":refs/heads/topic")
	if err != nil || !strings.Contains(out, "1 of them would have refused it") {
		t.Error(err, out)
	}
	if out := p.Run(p.Bare, "git", "log", "-1", "--notes=audit", "--format=%N", "refs/heads/topic"); !strings.Contains(out, `"would":["secret/github-pat:conf"]`) {
		t.Error(out)
	}
	if got := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/topic")); got != secret || !git.IsID(got) {
		t.Error(got)
	}
	p.Fsck()
}
