package hooks_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/hooks/push"
	"git-ward/internal/configtest"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

const pat = "Pat <pat@example.org> 1700000000 +0000"

// form is an object and what it needs, the tip last, and what its refusal says.
type form struct {
	name    string
	objects []string
	want    string
}

// brokenForms are commits and trees in other forms than git's own. Each of the
// first five moved main to any tree, or could have.
func brokenForms(p *gittest.Pair) []form {
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	tree := strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}"))
	blob, empty := p.Object("blob", "x"), p.Object("tree", "")
	commit := func(text string) []string { return []string{empty, p.Object("commit", text+"\n\nm\n")} }
	inTree := func(content string) []string {
		t := p.Object("tree", content)
		return []string{blob, empty, t, commitOf(p, t, head)}
	}
	top := "tree " + tree + "\nparent " + head + "\nauthor " + pat + "\ncommitter " + pat
	const byCommit, byTree, byKind = "object/commit: object ", "object/tree: object ", "object/form: object "
	return []form{
		{"a late tree", commit(top + "\ntree " + empty), byCommit},
		{"an early tree", commit("tree " + empty + "\n" + top), byCommit},
		{"a late parent", commit("tree " + tree + "\nauthor " + pat + "\ncommitter " + pat + "\nparent " + head), byCommit},
		{"a parent in front", commit("parent " + head + "\n" + top), byCommit},
		{"a late author", commit(top + "\nauthor " + pat), byCommit},
		{"two encodings", commit(top + "\nencoding UTF-8\nencoding latin1"), byCommit},
		{"UTF-16", commit(top + "\nencoding UTF-16"), byCommit},
		{"a NUL in the header", commit(top + "\nx a\x00b"), byCommit},
		{"a parent twice", commit(strings.Replace(top, "author", "parent "+head+"\nauthor", 1)), byCommit},
		{"no mail", commit(strings.ReplaceAll(top, " <pat@example.org>", "")), byCommit},
		{"a name twice", inTree(entry("100644", "a", blob) + entry("100644", "a", blob)), byTree},
		{"a file and a directory", inTree(entry("100644", "a", blob) + entry("100644", "a-b", blob) + entry("40000", "a", empty)), byTree},
		{"not sorted", inTree(entry("100644", "b", blob) + entry("100644", "a", blob)), byTree},
		{"a mode of before 2005", inTree(entry("100600", "a", blob)), byTree},
		{"a mode with a zero", inTree(entry("040000", "a", empty)), byTree},
		{"a dot", inTree(entry("40000", ".", empty)), byTree},
		{"a backslash", inTree(entry("100644", `.git\config`, blob)), byTree},
		{"a tree as a file", inTree(entry("100644", "a", empty)), byKind},
		{"a blob as a directory", inTree(entry("40000", "a", blob)), byKind},
		{"a commit as a file", inTree(entry("100644", "a", head)), byKind},
		{"a commit of a blob", []string{blob, p.Object("commit", strings.Replace(top, tree, blob, 1)+"\n\nm\n")}, byKind},
		{"a child of a tree", commit(strings.Replace(top, "parent "+head, "parent "+tree, 1)), byKind},
		{"a blob", []string{blob}, "does not lead to a commit"},
		{"a tree", []string{empty}, "does not lead to a commit"},
	}
}

// brokenTags are tag objects that nobody pushes by accident.
func brokenTags(p *gittest.Pair) []form {
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	tree := strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}"))
	tag := func(id, kind, more string) []string {
		return []string{p.Object("tag", "object "+id+"\ntype "+kind+"\ntag v1\ntagger "+pat+more)}
	}
	return []form{
		{"a tag's late object", tag(head, "commit", "\nobject "+tree+"\n\nm\n"), "object/tag: object "},
		{"a tag with a NUL", tag(head, "commit", "\n\nm\x00n\n"), "object/tag: object "},
		{"a tag that lies", tag(head, "tree", "\n\nm\n"), "object/form: object "},
		{"a tag of a tree", tag(tree, "tree", "\n\nm\n"), "does not lead to a commit"},
	}
}

// TestOneReading: an object in another form than git's own does not enter,
// whoever pushes it, loose or in a pack, whether git checks objects or not (GATE-1).
func TestOneReading(t *testing.T) {
	tier.Full(t, "every broken form of commit and tag, by four settings of git")
	t.Parallel()
	p := newPair(t)
	forms, tags := brokenForms(p), brokenTags(p)
	send := func(f form, agent bool, ref string, gitMay bool) {
		t.Helper()
		id := f.objects[len(f.objects)-1]
		u := push.Update{Ref: ref, Old: git.Zero, New: id}
		out := ""
		if agent {
			out = rawPush(p, f.objects, u)
		} else {
			pack, err := p.Try(p.Work, nil, strings.Join(f.objects, "\n")+"\n", "git", "pack-objects", "--stdout", "--quiet")
			if err != nil {
				t.Fatal(err, pack)
			}
			out = rawPack(p, nil, pack, u)
		}
		// Git may be faster than the hook: by its own checks, by what leads nowhere, or
		// because a branch takes commits only.
		byGit := gitMay && strings.Contains(out, "unpack ") && !strings.Contains(out, "unpack ok") ||
			strings.Contains(out, "missing necessary objects") || strings.Contains(out, "index-pack failed") || strings.Contains(out, "unpack-objects abnormal exit")
		if !strings.Contains(out, f.want) && !byGit {
			t.Errorf("%s: no %q in\n%s", f.name, f.want, out)
		}
	}
	for _, set := range []struct {
		fsck, unpack string
		agent        bool
	}{{"true", "100", true}, {"false", "100", true}, {"false", "1", true}, {"false", "100", false}} {
		p.Run(p.Bare, "git", "config", "receive.fsckObjects", set.fsck)
		p.Run(p.Bare, "git", "config", "receive.unpackLimit", set.unpack)
		for _, f := range forms {
			ref := "refs/heads/topic"
			if set.agent {
				ref = "refs/heads/agent/form"
			}
			send(f, set.agent, ref, set.fsck == "true")
		}
		for _, f := range tags {
			if !set.agent {
				send(f, false, "refs/tags/v1", false)
			}
		}
	}
}

// TestMainMovesByOneReadingOnly is the attack that won: by git the commit holds
// another tree than its reader believed, and main would have moved to it.
func TestMainMovesByOneReadingOnly(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Run(p.Bare, "git", "config", "receive.fsckObjects", "false")
	head := strings.TrimSpace(p.Git("rev-parse", "origin/main"))
	tree := strings.TrimSpace(p.Git("rev-parse", "origin/main^{tree}"))
	evil := p.Object("tree", entry("100644", "evil", p.Object("blob", "x")))
	for _, text := range []string{
		"tree " + evil + "\nparent " + head + "\nauthor " + pat + "\ncommitter " + pat + "\ntree " + tree + "\n\nm\n",
		"tree " + evil + "\nauthor " + pat + "\ncommitter " + pat + "\nparent " + head + "\n\nm\n",
	} {
		commit := p.Object("commit", text)
		out := rawPush(p, []string{commit, evil, p.Object("blob", "x")}, push.Update{Ref: "refs/heads/main", Old: head, New: commit})
		if !strings.Contains(out, "object/commit: object ") {
			t.Errorf("no finding:\n%s", out)
		}
	}
}

// TestLegacyForms: what older gits wrote, with one meaning, is a warning to the PM
// and a refusal to the agent; what stands in history already is nobody's trouble.
func TestLegacyForms(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Run(p.Bare, "git", "config", "receive.fsckObjects", "false")
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	blob := p.Object("blob", "x")
	old := commitOf(p, p.Object("tree", p.Git("cat-file", "tree", "HEAD^{tree}")+entry("40000", "zz", p.Object("tree", entry("100664", "a", blob)))), head)
	latin := p.Object("commit", "tree "+strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}"))+"\nparent "+head+"\nauthor "+pat+"\ncommitter "+pat+"\nencoding ISO-8859-1\n\nM\xfcller\n")
	for name, id := range map[string]string{"old": old, "latin": latin} {
		if out, err := p.AgentPush(id + ":refs/heads/agent/" + name); err == nil || !strings.Contains(out, "object/") {
			t.Errorf("the agent's %s: %v\n%s", name, err, out)
		}
		if out, err := p.Push(id + ":refs/heads/" + name); err != nil || !strings.Contains(out, "warning: object/") {
			t.Errorf("the PM's %s: %v\n%s", name, err, out)
		}
	}
	if out, err := p.Push(old + ":refs/heads/main"); err != nil {
		t.Fatal(out)
	}
	p.Git("fetch", "--quiet")
	p.Git("switch", "--quiet", "--create", "agent/x", "origin/main")
	p.Commit("zz/b", "the directory is written anew beside the old file")
	if out, err := p.AgentPush("agent/x"); err != nil {
		t.Error(out)
	}
	p.Run(p.Bare, "git-ward", "fsck")
}

// bulk makes a branch on the server that no hook has judged, as adopted history
// is: one commit of so many empty files, with this message.
func bulk(p *gittest.Pair, branch string, files int, message string) (commit string) {
	p.T.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "feature done\nreset refs/heads/%s\nfrom refs/heads/main^0\n\ncommit refs/heads/%s\ncommitter %s\ndata %d\n%s\n", branch, branch, pat, len(message), message)
	for i := range files {
		fmt.Fprintf(&b, "M 100644 inline bulk/%d\ndata 0\n\n", i)
	}
	b.WriteString("done\n")
	if out, err := p.Try(p.Bare, nil, b.String(), "git", "fast-import", "--quiet"); err != nil {
		p.T.Fatal(err, out)
	}
	p.Run(p.Bare, "git-ward", "init", "--bare", p.Bare) // records the branch
	p.Git("fetch", "--quiet", "origin")
	return strings.TrimSpace(p.Git("rev-parse", "origin/"+branch))
}

const fakeKey = "AKIA" + "QYLPMN5HFIQR7XYA" // of the form of a real one

// TestKnownCommitsDoNotSilence: what the walk meets at a commit that some branch
// has already, a limit or as many findings as are kept, neither stops the
// judgement of what is new nor is held against it (GATE-2).
func TestKnownCommitsDoNotSilence(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	bulk(p, "large", 200, "more paths than one step may have")
	bulk(p, "many", 10, "many findings: "+strings.Repeat("\x1b", 10))
	configtest.Set(t, p.Bare, "changed_paths = 100")
	for _, branch := range []string{"large", "many"} {
		p.Git("switch", "--quiet", "--force-create", "topic", "origin/"+branch)
		p.Commit("secret", fakeKey+"\n")
		if out, err := p.Push("topic:refs/heads/topic-" + branch); err == nil || !strings.Contains(out, "secret:1:1: secret/") || strings.Contains(out, "bulk/") {
			t.Errorf("on %s: %v\n%s", branch, err, out)
		}
		p.Git("reset", "--quiet", "--hard", "origin/"+branch)
		p.Commit("harmless", "x")
		if out, err := p.Push("topic:" + branch); err != nil {
			t.Errorf("what the PM brought in by another way is held against him: %s", out)
		}
		// The agent's branch is judged as the agent's, all of it.
		if out, err := p.AgentPush("topic:refs/heads/agent/" + branch); err == nil {
			t.Errorf("what was never judged entered the agent's branches:\n%s", out)
		}
	}
	p.Fsck()
}

// TestFindingsBeyondTheCap: findings that are too many to keep refuse all the same,
// behind any number of warnings, and behind any number that the PM lets pass.
func TestFindingsBeyondTheCap(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Git("switch", "--quiet", "--create", "topic")
	for i := range 1001 {
		p.Write(fmt.Sprintf("f%04d", i), fakeKey+"\n")
	}
	p.Git("add", ".")
	p.Git("commit", "--quiet", "-m", "keys")
	args := []string{"push", "origin", "topic"}
	for i := range 1000 {
		args = append(args, "-o", fmt.Sprintf("ward.allow=secret/aws-access-token:f%04d", i))
	}
	if out, err := p.Try(p.Work, nil, "", "git", args...); err == nil || !strings.Contains(out, "limit/findings: 1 finding more than the 1000") {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	p.Fsck()
}

// TestOneJudgementForEachPlace: what the PM lets pass at one path is not let pass at
// another, and a file's content is judged again as a link's.
func TestOneJudgementForEachPlace(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Git("switch", "--quiet", "--create", "topic")
	p.Write("a", fakeKey+"\n")
	p.Write("b", fakeKey+"\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "-m", "keys")
	if out, err := p.Push("-o", "ward.allow=secret/aws-access-token:a", "topic"); err == nil || !strings.Contains(out, "b:1:1: secret/aws-access-token") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestStrays: an object that came along and that nothing pushed leads to does not
// stay, loose or in a pack; what the repository has already may come again.
func TestStrays(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	c := commitOf(p, strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}")), head)
	stray := p.Object("blob", fakeKey)
	late := commitOf(p, p.Object("tree", entry("100644", "evil", stray)), head)
	u := push.Update{Ref: "refs/heads/agent/x", Old: git.Zero, New: c}
	for _, limit := range []string{"100", "1"} {
		p.Run(p.Bare, "git", "config", "receive.unpackLimit", limit)
		for _, objects := range [][]string{{c, stray}, {c, late, stray, strings.TrimSpace(p.Git("rev-parse", late+"^{tree}"))}} {
			if out := rawPush(p, objects, u); !strings.Contains(out, "object/stray: ") {
				t.Errorf("%d objects, unpackLimit %s:\n%s", len(objects), limit, out)
			}
			if out, err := p.Try(p.Bare, nil, "", "git", "cat-file", "-e", stray); err == nil {
				t.Error("the stray stayed", out)
			}
		}
		again := append(strings.Fields(p.Git("rev-list", "--objects", "--no-object-names", "HEAD")), c)
		pack, err := p.Try(p.Work, nil, strings.Join(again, "\n")+"\n", "git", "pack-objects", "--stdout", "--quiet")
		if err != nil {
			t.Fatal(err, pack)
		}
		token, err := gittest.AgentToken(p.Bare)
		if err != nil {
			t.Fatal(err)
		}
		u := push.Update{Ref: "refs/heads/agent/again" + limit, Old: git.Zero, New: c}
		if out, _ := p.Try(p.Work, token, pktLines(u)+pack, "git", "receive-pack", p.Bare); !strings.Contains(out, "ok refs/heads/agent/again"+limit) {
			t.Errorf("all of main sent again, unpackLimit %s:\n%s", limit, out)
		}
	}
	p.Fsck()
}

// TestJournalIsNoBranch: a commit that is known from a journal only is judged
// again when it enters a branch, in the same push or a later one.
func TestJournalIsNoBranch(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	tree := p.Object("tree", p.Git("cat-file", "tree", "HEAD^{tree}")+entry("100644", "zz", p.Object("blob", fakeKey)))
	hidden := commitOf(p, tree, head)
	p.Run(p.Work, "git", "push", "--quiet", p.Bare, hidden+":refs/heads/hide", "-o", "ward.allow=secret/aws-access-token:zz")
	p.Run(p.Bare, "git", "update-ref", "refs/ward/uow/D-1.1", hidden)
	p.Run(p.Bare, "git", "update-ref", "-d", "refs/heads/hide")
	top := commitOf(p, strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}")), hidden)
	for _, who := range []func(...string) (string, error){p.AgentPush, p.Push} {
		out, err := who(top+":refs/heads/agent/x", hidden+":refs/ward/uow/D-1.1")
		if err == nil || !strings.Contains(out, "zz:1:1: secret/") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestRefTwice: one push does not move a ref twice.
func TestRefTwice(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	c := commitOf(p, strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}")), head)
	u := push.Update{Ref: "refs/heads/agent/x", Old: git.Zero, New: c}
	if out := rawPush(p, []string{c}, u, u); !strings.Contains(out, "ref/twice") && !strings.Contains(out, "multiple updates") {
		t.Errorf("no refusal:\n%s", out)
	}
}
