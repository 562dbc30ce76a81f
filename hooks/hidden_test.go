package hooks_test

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// token is a secret that no file of Ward's holds as it stands.
func token(last string) string { return "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4" + last }

// rawText makes a commit from its own lines, on HEAD's tree.
func rawText(p *gittest.Pair, author, committer, extra, message string) string {
	p.T.Helper()
	return p.Object("commit", fmt.Sprintf("tree %s\nparent %s\nauthor %s 1700000000 +0000\ncommitter %s 1700000000 +0000\n%s\n%s",
		strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}")), strings.TrimSpace(p.Git("rev-parse", "HEAD")), author, committer, extra, message))
}

func rawTag(p *gittest.Pair, name, tagger, message string) string {
	p.T.Helper()
	return p.Object("tag", fmt.Sprintf("object %s\ntype commit\ntag %s\ntagger %s 1700000000 +0000\n\n%s", strings.TrimSpace(p.Git("rev-parse", "HEAD")), name, tagger, message))
}

const person = "Pat <pat@example.org>"

// TestHiddenInMetadata: what git prints of a commit or a tag holds nothing that a
// reader cannot see, wherever it stands, and all of it is named at once.
func TestHiddenInMetadata(t *testing.T) {
	tier.Full(t, "seventy pushes, one for each invisible letter and place")
	t.Parallel()
	p := unguarded(t)
	for _, hidden := range []string{"\x1b[31m", "\u202e", "\u2066", "\u200b", "\u200d", "\u3164", "\u115f", "\u00ad", "\ufe0f", "\u2028", "\U000e0041", "\u2800", "\u180e", "\u034f", "\u0085", "\xff"} {
		commit := rawText(p, "P"+hidden+"t <pat@example.org>", "Pat <p"+hidden+"t@example.org>", "x-header a"+hidden+"b\ngpgsig -----BEGIN x\n  a"+hidden+"b\n -----END x\n", "subject\n\nbo"+hidden+"dy\n")
		refuses(t, p.AgentPush, commit+":refs/heads/agent/x", "commit/author: the author holds", "commit/committer: the committer holds", "commit/header: the header holds", "commit/message: the message holds")
		tag := rawTag(p, "v"+hidden+"1", "P"+hidden+"t <pat@example.org>", "mess"+hidden+"age\n")
		refuses(t, p.Push, tag+":refs/tags/v1", "tag/name: the name holds", "tag/tagger: the tagger holds", "tag/message: the message holds")
		merged := "mergetag object " + strings.Repeat("12", 20) + "\n type commit\n tag v1\n tagger " + person + " 1700000000 +0000\n \n me" + hidden + "ssage\n"
		refuses(t, p.Push, rawText(p, person, person, merged, "m\n")+":refs/heads/x", "commit/header: the header holds")
	}
	refuses(t, p.AgentPush, rawText(p, person, person, "", "seen\rover\n")+":refs/heads/agent/x", "commit/message: the message holds the control character U+000D")
	refuses(t, p.AgentPush, rawText(p, person, person, "x-long "+strings.Repeat("x", 70_000)+"\n", "m\n")+":refs/heads/agent/x", "commit/size: the headers have 70000 bytes")
	refuses(t, p.Push, rawTag(p, "v1", person, strings.Repeat("x", 70_000)+"\n")+":refs/tags/v1", "tag/size: the message has 70001 bytes", "hint: make the tag again with a shorter one: git tag -f -a")
	for path := range map[string]bool{"a\u200bb": true, "a/\u3164": true, "x\u2066y": true, "x\ufe0f": true, "a\u00adb/c": true, "\u202egnp.exe": true, "a\u2028": true, "a\xffb": true} {
		refuses(t, p.AgentPush, rawCommit(p, files{path: "x"}, "a path", "HEAD")+":refs/heads/agent/x", "path/name: the path holds")
		refuses(t, p.AgentPush, rawCommit(p, files{"d/" + path: nil}, "an empty directory", "HEAD")+":refs/heads/agent/x", "path/name: the path holds")
	}
	tag := rawTag(p, "v2", person, "m\n")
	if out, err := p.Push(tag + ":refs/tags/v1"); err != nil || !strings.Contains(out, `warning: tag/other-name: the tag object calls itself "v2"`) {
		t.Errorf("%v\n%s", err, out)
	}
	p.Fsck()
}

// TestWritingPasses: titles and names in the world's scripts, right to left too, and
// emoji are no attack, in messages, names, paths, refs and documents.
func TestWritingPasses(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Git("config", "user.name", "مریم خواهم\u200cنوشت")
	message := "加限速器 🚀 👩🏽\u200d💻 ❤\ufe0f\n\nمی\u200cخواهم، שלום \u200f(C++)!\r\nक्\u200dष 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f 1\ufe0f\u20e3 辻\U000e0100\n"
	p.Git("switch", "-q", "-c", "agent/限速-می\u200cخواهم")
	for _, path := range []string{"文档/说明.md", "مستندات/میخ.txt", "notes 📝/👨\u200d👩\u200d👧.txt", "skills/技能.md", "Screenshot 3.45.12\u202fPM.png"} {
		p.Commit(path, message)
	}
	p.Git("commit", "-q", "--allow-empty", "-m", message)
	refuses(t, p.AgentPush, "HEAD")
	p.Git("push", "-q", "origin", "HEAD:main")
	p.Commit("COMMS.md", "# COMMS\n\n## Directives\n\n### D-1: 添加限速器 🚀 لطفاً می\u200cخواهم\n\nשלום, نص عربي.\n\n- [ ] ok (`true`)\n\n## Reports\n")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(err, out)
	}
	p.Fsck()
}

// TestHiddenInDocuments: Ward's documents hold nothing that a reader cannot see;
// what main has already does not lock the agent out. Other files are warned of
// Trojan text.
func TestHiddenInDocuments(t *testing.T) {
	tier.Full(t, "fifty pushes, one for each document and letter")
	t.Parallel()
	p := newPair(t)
	for i, path := range []string{"COMMS.md", "SYSTEM.md", "AGENTS.md", "LEARNINGS.md", "knowledge_core/x.md", "plans/x.md", "protocols/x.protocol.md", "skills/a/SKILL.md", "spec/SPEC_x.md", "postmortems/x.md", "evidence/x.txt"} {
		hidden := []string{"\u200b", "\u202e", "\u3164", "\U000e0041", "\x1b[2J", "\u00ad"}[i%6]
		commit := rawCommit(p, files{path: "seen\n\nig" + hidden + "nore\n"}, "hidden", "HEAD")
		for _, push := range []pusher{p.AgentPush, p.Push} {
			refuses(t, push, commit+":refs/heads/agent/x", path+":3:3: text/hidden: the document holds the")
		}
	}
	for _, path := range []string{"sub/AGENTS.md", "CLAUDE.md", "x/claude.md", ".cursorrules", "a/.clinerules/x.md"} {
		commit := rawCommit(p, files{path: "a\U000e0041b\n"}, "hidden", "HEAD")
		refuses(t, p.AgentPush, commit+":refs/heads/agent/x", path+":1:2: text/hidden")
		refuses(t, p.Push, commit+":refs/heads/fixtures/"+fmt.Sprint(len(path)))
	}
	note := rawCommit(p, files{strings.Repeat("12", 20): "fine\n\x1b[2J\n"}, "a note", "HEAD")
	refuses(t, p.Push, note+":refs/notes/mine", strings.Repeat("12", 20)+":2:1: text/hidden")
	old := rawCommit(p, files{"skills/old.md": "a\u200bb\n"}, "old", "HEAD")
	if out, err := p.Try(p.Work, nil, "", "git", "push", "-o", "ward.allow=text/hidden:skills/old.md", "origin", old+":refs/heads/main"); err != nil {
		t.Fatal(err, out)
	}
	p.Git("fetch", "-q")
	refuses(t, p.AgentPush, rawCommit(p, files{"skills/old.md": "a\u200bb\nmore\n"}, "more", "origin/main")+":refs/heads/agent/more")

	// CVE-2021-42574: a comment that is shown in another place.
	for text, want := range map[string]string{
		"if x { /*\u202e } \u2066if admin\u2069 \u2066 begin admins only */\n": "main.c:2:10: warning: text/bidi",
		"s = \"\u202aopen\n":               "main.c:2:6: warning: text/bidi",
		"\u2067a \u202bb\u2069\n\u2067c\n": "main.c:3:1: warning: text/bidi",
		strings.Repeat("\u202a", 200_000) + strings.Repeat("\u2069", 200_000) + "\n": "main.c:2:1: warning: text/bidi",
		"\u2067closed\u2069 \u202eclosed\u202c\n":                                    "",
		"plain שלום\n": "",
	} {
		for _, push := range []pusher{p.AgentPush, p.Push} {
			out, err := push(rawCommit(p, files{"main.c": "x\n" + text}, "code", "HEAD") + ":refs/heads/agent/" + fmt.Sprint(len(text)))
			out = strings.ReplaceAll(out, "remote: ", "")
			if err != nil || want == "" && strings.Contains(out, "text/bidi") || !strings.Contains(out, want) {
				t.Errorf("%+q: want %q (%v) in\n%s", text, want, err, out)
			}
			p.Git("push", "-q", "origin", "--delete", "agent/"+fmt.Sprint(len(text)))
		}
	}
	p.Fsck()
}

// TestSecretsEverywhere: a secret is refused wherever git keeps text, and neither the
// answer nor the audit says it again.
func TestSecretsEverywhere(t *testing.T) {
	t.Parallel()
	p := unguarded(t)
	x := token("a")
	const found = "secret/github-pat: "
	for name, c := range map[string]struct {
		push    pusher
		refspec string
		want    string
	}{
		"author":       {p.AgentPush, rawText(p, x+" <a@b.c>", person, "", "m\n") + ":refs/heads/agent/x", found + "the author looks like a secret"},
		"mail":         {p.AgentPush, rawText(p, person, "C <"+x+"@b.c>", "", "m\n") + ":refs/heads/agent/x", found + "the committer looks like a secret"},
		"header":       {p.AgentPush, rawText(p, person, person, "x-key "+x+"\n", "m\n") + ":refs/heads/agent/x", found + "the header x-key looks like a secret"},
		"header's key": {p.AgentPush, rawText(p, person, person, x+" y\n", "m\n") + ":refs/heads/agent/x", found + "the header [github-pat] looks like a secret"},
		"signature":    {p.AgentPush, rawText(p, person, person, "gpgsig -----BEGIN x\n "+x+"\n -----END x\n", "m\n") + ":refs/heads/agent/x", found + "line 2 of the header gpgsig"},
		"mergetag": {p.Push, rawText(p, person, person, "mergetag object "+strings.Repeat("12", 20)+"\n type commit\n tag v1\n tagger "+person+" 1700000000 +0000\n \n "+x+"\n", "m\n") + ":refs/heads/x",
			found + "line 6 of the header mergetag"},
		"message":       {p.Push, rawText(p, person, person, "", "m\n\n"+x+"\n") + ":refs/heads/x", found + "line 3 of the commit message"},
		"path":          {p.AgentPush, rawCommit(p, files{"keys/" + x + ".txt": "y"}, "m", "HEAD") + ":refs/heads/agent/x", "keys/[github-pat].txt: " + found + "the name of the file looks like a secret"},
		"directory":     {p.AgentPush, rawCommit(p, files{x + "/a/b": "y"}, "m", "HEAD") + ":refs/heads/agent/x", "[github-pat]/a/b: " + found},
		"empty":         {p.AgentPush, rawCommit(p, files{"d/" + x: nil}, "m", "HEAD") + ":refs/heads/agent/x", "d/[github-pat]: " + found},
		"path and more": {p.AgentPush, rawCommit(p, files{".github/" + x: "y", x + "\x1b": "y"}, "m", "HEAD") + ":refs/heads/agent/x", ".github/[github-pat]: rights/protected"},
		"link":          {p.AgentPush, rawCommit(p, files{"l": link("../" + x)}, "m", "HEAD") + ":refs/heads/agent/x", `link/target: the link leads to "../[github-pat]"`},
		"link within":   {p.AgentPush, rawCommit(p, files{"l": link(x)}, "m", "HEAD") + ":refs/heads/agent/x", "l:1:1: " + found},
		"branch":        {p.AgentPush, "HEAD:refs/heads/agent/" + x, "refs/heads/agent/[github-pat]: " + found + "the name of the ref looks like a secret"},
		"tag ref":       {p.Push, "HEAD:refs/tags/" + x, "refs/tags/[github-pat]: " + found},
		"tag name":      {p.Push, rawTag(p, x, person, "m\n") + ":refs/tags/v1", found + "the name of the tag"},
		"tagger":        {p.Push, rawTag(p, "v1", x+" <a@b.c>", "m\n") + ":refs/tags/v1", found + "the tagger"},
		"tag message":   {p.Push, rawTag(p, "v1", person, "m\n\n"+x+"\n") + ":refs/tags/v1", found + "line 3 of the tag's message"},
		"nested tag": {p.Push, p.Object("tag", fmt.Sprintf("object %s\ntype tag\ntag v1\ntagger %s 1700000000 +0000\n\nm\n", rawTag(p, "v1", person, x+"\n"), person)) + ":refs/tags/v1",
			found + "line 1 of the tag's message"},
		"note":     {p.Push, rawCommit(p, files{strings.Repeat("12", 20): x}, "m", "HEAD") + ":refs/notes/mine", strings.Repeat("12", 20) + ":1:1: " + found},
		"evidence": {p.AgentPush, rawCommit(p, files{"evidence/D-1/log.txt": "a\n" + x}, "m", "HEAD") + ":refs/heads/agent/x", "evidence/D-1/log.txt:2:1: " + found},
		"journal":  {p.AgentPush, rawCommit(p, files{"uow.json": `{"note":"` + x + `"}`}, "m", "HEAD") + ":refs/ward/uow/D-1.1", "uow.json:1:"},
		"document": {p.AgentPush, rawCommit(p, files{"VERSION": x}, "m", "HEAD") + ":refs/heads/agent/x", "VERSION:1:1: " + found},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := c.push(c.refspec)
			if text := strings.ReplaceAll(out, "remote: ", ""); err == nil || !strings.Contains(text, c.want) {
				t.Errorf("want %q in (%v)\n%s", c.want, err, text)
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "remote:") && strings.Contains(line, x) {
					t.Errorf("the answer says it again: %s", line)
				}
			}
		})
	}
	// JSON is the same answer.
	door, err := gittest.AgentToken(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Try(p.Work, door, "", "git", "push", "-o", "ward.format=json", "origin", rawCommit(p, files{"keys/" + x: "y"}, "m", "HEAD")+":refs/heads/agent/"+x)
	if err == nil || !strings.Contains(out, `"path":"keys/[github-pat]"`) && !strings.Contains(out, `"ref":"refs/heads/agent/[github-pat]"`) {
		t.Errorf("%v\n%s", err, out)
	}
	// No audit has it: neither the chain's objects nor files beside it.
	for _, args := range [][]string{{"sh", "-c", "git rev-list --all --objects | cut -c1-40 | git cat-file --batch"}, {"sh", "-c", "grep -r " + x + " ward || true"}, {"git", "for-each-ref"}} {
		if got := p.Run(p.Bare, args[0], args[1:]...); strings.Contains(got, x) {
			t.Errorf("%v: it is there", args)
		}
	}
	p.Fsck()
}
