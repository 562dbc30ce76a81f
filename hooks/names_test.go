package hooks_test

import (
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/tier"
)

// TestNamesOfGit: every spelling of .git that some file system takes for it is
// refused from anybody, as a file, a directory, an empty one too.
func TestNamesOfGit(t *testing.T) {
	tier.Full(t, "a push for each name that some file system takes for .git; internal/filename reads them in one process")
	t.Parallel()
	p := unguarded(t)
	add := files{}
	for i, name := range []string{".GIT", ".Git ", ".git.", ".git...", ".git::$INDEX_ALLOCATION", ".git:x", "GIT~1", "git~2", "gi3a0b~1",
		".g\u200cit", ".gi\u00adt", ".g\u034fit", ".git\ufe0f", ".g\u180eit", ".g\u3164it", ".g\U000e0041it", ".gıt"} {
		dir := string(rune('a' + i))
		add[dir+"/"+name+"/config"] = "x"
		add[dir+"/file/"+name] = "x"
	}
	commit := rawCommit(p, add, "names of git", "HEAD")
	for _, push := range []pusher{p.Push, p.AgentPush} {
		var want []string
		for i := range len(add) / 2 {
			dir := string(rune('a' + i))
			want = append(want, "\n"+dir+"/.", "\n"+dir+"/file/")
		}
		want = append(want, "path/name: the path holds a name that some file systems take for .git")
		for i, text := range want { // GIT~1 and its like have no dot
			if dir := strings.TrimPrefix(text, "\n"); strings.HasPrefix(text, "\ng/.") || strings.HasPrefix(text, "\nh/.") || strings.HasPrefix(text, "\ni/.") {
				want[i] = "\n" + strings.TrimSuffix(dir, ".")
			}
		}
		refuses(t, push, commit+":refs/heads/agent/x", want...)
	}
	for _, name := range []string{".GIT", "GIT~1"} {
		refuses(t, p.Push, rawCommit(p, files{name + "/a": nil}, "an empty directory", "HEAD")+":refs/heads/x", "path/name")
		refuses(t, p.Push, rawCommit(p, files{name: nil}, "an empty directory", "HEAD")+":refs/heads/x", "path/name")
	}
	refuses(t, p.AgentPush, rawCommit(p, files{"a/...": "x", "b/ ": "x", "c/. ./f": "x"}, "no names", "HEAD")+":refs/heads/agent/x",
		"a/...: path/name", "b/ : path/name", "c/. ./f: path/name")
	// These are names of their own.
	refuses(t, p.AgentPush, rawCommit(p, files{".gitignore": "x", "git": "x", "digit~1": "x", ".github.io": "x", "agit": "x", "a.git/x": "x"}, "names", "HEAD")+":refs/heads/agent/x")
	p.Fsck()
}

// TestProtectedInEverySpelling: a protected path is the PM's in every spelling that
// some file system folds, at every depth, as file, link and directory.
func TestProtectedInEverySpelling(t *testing.T) {
	t.Parallel()
	p := unguarded(t)
	add := files{}
	for _, path := range []string{
		".VSCODE/tasks.json", ".GitHub/workflows/x.yml", ".Claude/settings.json", ".github /x", ".github./y", ".github::$INDEX_ALLOCATION/z",
		"GITHUB~1/x", "VSCODE~1/x", "claude~1/x", ".ENVRC", "ENVRC~1", ".\u200cenvrc", ".g\u0131thub/x", "sub/.github/x", "a/b/.envrc",
		"a/.vscode/x", "b/.gitattributes", "b/c/.GITATTRIBUTES", "GITATT~1", ".GitLab-CI.yml", "GITLAB~1.YML", "a/.npmrc", "a/JENKINSFILE",
		"JENKIN~1", ".K\u0131ro/x", ".\u212airo/hooks/x", "x.CODE-WORKSPACE", "proj/.idea/x", ".cargo/config", "deep/a/b/.claude", ".hu\u017fky/x",
		"Bitbucket-Pipelines.yml", ".DEVCONTAINER.JSON", "mise.local.toml", ".dir-locals.el", ".GITCONFIG",
	} {
		add[path] = "x"
	}
	add["link/.github"] = link("elsewhere")
	var want []string
	for path := range add {
		want = append(want, "\n"+diag.Clean(path)+": rights/protected: only the PM may change this path")
	}
	commit := rawCommit(p, add, "in disguise", "HEAD")
	refuses(t, p.AgentPush, commit+":refs/heads/agent/x", want...)

	// Nothing in disguise is deleted or replaced either.
	p.Commit("sub/.envrc", "PM's")
	p.Commit(".GitHub/x", "PM's")
	p.Git("push", "-q", "origin", "main")
	refuses(t, p.AgentPush, rawCommit(p, files{"sub/.envrc": link("-")}, "gone", "HEAD")+":refs/heads/agent/x", "sub/.envrc: rights/protected")
	refuses(t, p.AgentPush, rawCommit(p, files{".GitHub/x": "other"}, "other", "HEAD")+":refs/heads/agent/x", ".GitHub/x: rights/protected")
	refuses(t, p.AgentPush, rawCommit(p, files{".GitHub/x": link("-"), ".GitHub": link("src")}, "a link", "HEAD")+":refs/heads/agent/x", ".GitHub: rights/protected")
	// Main's own version, taken by a merge or by hand, passes.
	p.Git("switch", "-q", "-c", "agent/ok")
	p.Commit("work", "x")
	refuses(t, p.AgentPush, "agent/ok")
	p.Git("switch", "-q", "main")
	p.Commit("sub/.envrc", "PM's, newer")
	p.Git("push", "-q", "origin", "main")
	p.Git("switch", "-q", "agent/ok")
	p.Git("merge", "-q", "--no-edit", "main")
	refuses(t, p.AgentPush, "agent/ok")
	// A merge that keeps the older nested one does not.
	p.Git("switch", "-q", "main")
	p.Commit("sub/.envrc", "PM's, newest")
	p.Git("push", "-q", "origin", "main")
	p.Git("switch", "-q", "agent/ok")
	p.Git("merge", "-q", "-s", "ours", "--no-edit", "main")
	refuses(t, p.AgentPush, "agent/ok", "sub/.envrc: rights/protected: a merge kept a protected path older than the main that it merged")
	p.Git("reset", "-q", "--hard", "origin/agent/ok")
	// Ordinary files stay the agent's, with names that resemble.
	refuses(t, p.AgentPush, rawCommit(p, files{"package.json": "{}", "Makefile": "x", "CLAUDE.md": "x", "GEMINI.md": "x", ".cursorrules": "x", ".githubs/x": "x",
		"github/x": "x", "docs/spec/x": "x", "jenkins/file": "x", ".gitignore": "x", "Dockerfile": "x", "pyproject.toml": "x"}, "ordinary", "agent/ok")+":refs/heads/agent/ok")
	p.Fsck()
}

// TestOneNameOnSomeFileSystem: two names that some file system takes for one are
// refused from anybody, in one commit and brought together by a merge.
func TestOneNameOnSomeFileSystem(t *testing.T) {
	tier.Full(t, "a push for each pair of names that some file system takes for one")
	t.Parallel()
	p := unguarded(t)
	for _, pair := range [][2]string{
		{"A.txt", "a.txt"}, {"dir/é", "dir/e\u0301"}, {"straße", "STRASSE"}, {"x", "x."}, {"x", "x "}, {"x", "x::$DATA"}, {"ſ", "s"}, {"K", "\u212a"},
		{"ﬃ", "ffi"}, {"a\u200c", "a"}, {"می\u200cخ", "میخ"}, {"Dir/a", "dir/b"}, {"d", "D/x"}, {"ı", "I"}, {"👍", "👍\ufe0f"},
	} {
		commit := rawCommit(p, files{pair[0]: "1", pair[1]: "2"}, "two names", "HEAD")
		for _, push := range []pusher{p.Push, p.AgentPush} {
			refuses(t, push, commit+":refs/heads/agent/x", "path/case")
		}
	}
	refuses(t, p.AgentPush, rawCommit(p, files{"man/Git::A.3": "1", "man/Git::B.3": "2", "e": "", "é": ""}, "two names", "HEAD")+":refs/heads/agent/x")

	// Each side of a merge has one of the names; the merge itself writes no path.
	p.Push(rawCommit(p, files{"docs/Readme": "1"}, "one", "HEAD") + ":refs/heads/one")
	p.Push(rawCommit(p, files{"docs/README": "2", "docs/x": "3"}, "two", "HEAD") + ":refs/heads/two")
	p.Git("fetch", "-q")
	merge := rawCommit(p, files{"docs/README": "2", "docs/x": "3"}, "merge", "origin/one", "origin/two")
	refuses(t, p.Push, merge+":refs/heads/main", `path/case: differs from "README" only in case`)
	// Directories that fold to one, each from one side.
	p.Push(rawCommit(p, files{"Src/a": "1"}, "three", "HEAD") + ":refs/heads/three")
	p.Push(rawCommit(p, files{"src/b": "1"}, "four", "HEAD") + ":refs/heads/four")
	p.Git("fetch", "-q")
	refuses(t, p.Push, rawCommit(p, files{"src/b": "1"}, "merge", "origin/three", "origin/four")+":refs/heads/main", "path/case")
	// A repository that has such names already is worked in all the same.
	both := rawCommit(p, files{"old/X": "1", "old/x": "2"}, "old", "HEAD")
	if out, err := p.Try(p.Work, nil, "", "git", "push", "-o", "ward.allow=path/case:old/x", "origin", both+":refs/heads/main"); err != nil {
		t.Fatal(err, out)
	}
	p.Git("fetch", "-q")
	refuses(t, p.AgentPush, rawCommit(p, files{"old/y": "1"}, "beside", "origin/main")+":refs/heads/agent/y")
	p.Fsck()
}

// TestDocumentsInAnotherSpelling: what some file system reads as a document of
// Ward's is judged as one, or refused.
func TestDocumentsInAnotherSpelling(t *testing.T) {
	tier.Full(t, "a push for each spelling of each document")
	t.Parallel()
	p := unguarded(t)
	gone := files{"COMMS.md": link("-"), "VERSION": link("-")}
	for path := range map[string]bool{"comms.md": true, "COMMS.md.": true, "COMM\u017f.md": true, "version": true, "Evidence/D-1/loop/x": true, "plans /x.txt": true,
		"KNOWLE~1/lessons.jsonl": true, "PROTOC~1/x": true, "\u017fkills/x": true, "LEARNI~1.MD": true, "agents.MD:x": true} {
		add := files{path: "x"}
		for name, none := range gone {
			add[name] = none
		}
		refuses(t, p.AgentPush, rawCommit(p, add, "another spelling", "HEAD")+":refs/heads/agent/x", "path/document: some file systems take it for a document of Ward's")
		refuses(t, p.Push, rawCommit(p, files{path: "x"}, "another spelling", "HEAD")+":refs/heads/x", "path/")
	}
	refuses(t, p.AgentPush, rawCommit(p, files{"comms.md": link("COMMS.md")}, "beside it", "HEAD")+":refs/heads/agent/x", "path/case", "path/document", "mode/document")
	refuses(t, p.AgentPush, rawCommit(p, files{"docs/comms.md": "x", "docs/plans/x": "x", "src/Version": "x"}, "elsewhere", "HEAD")+":refs/heads/agent/x")
	p.Fsck()
}

// TestSubmodules: from the agent nothing comes in that git reads as a submodule or
// its settings, under whatever name.
func TestSubmodules(t *testing.T) {
	tier.Full(t, "a push for each way to bring a submodule; hooks/checks has them as fixtures")
	t.Parallel()
	p := unguarded(t)
	names := []string{".gitmodules", ".GITMODULES", ".gitmodules ", ".gitmodules.", ".gitmodules::$DATA", "GITMOD~1", "gitmod~4", "GI7EBA~1", "gi7eba~9", ".gitmod\u200cules", ".gitmodule\u017f"}
	for _, name := range names {
		commit := rawCommit(p, files{name: "[submodule \"x\"]\n"}, "modules", "HEAD")
		refuses(t, p.AgentPush, commit+":refs/heads/agent/x", "mode/submodule: the agent may not configure submodules")
		if name != ".gitmodules" {
			refuses(t, p.Push, commit+":refs/heads/x", "mode/submodule: git takes it for .gitmodules on some file systems")
		}
	}
	refuses(t, p.AgentPush, rawCommit(p, files{"lib/sub": git.ModeGitlink}, "a submodule", "HEAD")+":refs/heads/agent/x", "lib/sub: mode/submodule")
	refuses(t, p.Push, rawCommit(p, files{".gitmodules": link("x")}, "a link", "HEAD")+":refs/heads/x", "mode/submodule")
	refuses(t, p.Push, rawCommit(p, files{".gitmodules": "[submodule \"x\"]\n", "vendor/.gitmodules": "x", "lib/sub": git.ModeGitlink}, "the PM's", "HEAD")+":refs/heads/x")
}

// TestTreesThatAreRepositories: a directory that git would enter as a repository
// does not come from the agent, in one commit, by steps, or by a merge.
func TestTreesThatAreRepositories(t *testing.T) {
	tier.Full(t, "a push for each tree that git takes for a repository")
	t.Parallel()
	p := unguarded(t)
	for name, add := range map[string]files{
		"plain":     {"a/HEAD": "ref: refs/heads/main\n", "a/objects/x": "", "a/refs/x": "", "a/config": "[core]\n\tfsmonitor = touch /tmp/x\n"},
		"folded":    {"a/head": "ref: refs/heads/main\n", "a/Objects/x": "", "a/REFS/x": ""},
		"links":     {"a/HEAD": link("y"), "a/objects": link("x"), "a/refs": link("x")},
		"empty":     {"a/HEAD": "x", "a/objects": nil, "a/refs": nil},
		"elsewhere": {"a/b/c/HEAD": "x", "a/b/c/commondir": "../../../x"},
		"root":      {"HEAD": "x", "objects/x": "", "refs/x": ""},
		"spaces":    {"a/HEAD ": "x", "a/objects./x": "", "a/ref\u017f/x": ""},
	} {
		commit := rawCommit(p, add, name, "HEAD")
		refuses(t, p.AgentPush, commit+":refs/heads/agent/x", "path/repository: git takes this directory for a repository")
	}
	out, err := p.Push(rawCommit(p, files{"a/HEAD": "x", "a/objects/x": "", "a/refs/x": ""}, "fixtures", "HEAD") + ":refs/heads/x")
	if err != nil || !strings.Contains(out, "warning: path/repository") {
		t.Errorf("%v\n%s", err, out)
	}
	// By steps, and by a merge of halves.
	refuses(t, p.AgentPush, rawCommit(p, files{"a/HEAD": "x", "a/objects/x": ""}, "half", "HEAD")+":refs/heads/agent/one")
	refuses(t, p.AgentPush, rawCommit(p, files{"a/refs/x": ""}, "half", "HEAD")+":refs/heads/agent/two")
	p.Git("fetch", "-q")
	refuses(t, p.AgentPush, rawCommit(p, files{"a/refs/x": ""}, "whole", "origin/agent/one")+":refs/heads/agent/one", "path/repository")
	refuses(t, p.AgentPush, rawCommit(p, files{"a/refs/x": ""}, "merge", "origin/agent/one", "origin/agent/two")+":refs/heads/agent/one", "path/repository")
	refuses(t, p.AgentPush, rawCommit(p, files{"a/HEAD": "x", "a/refs/x": "", "a/object": ""}, "none", "HEAD")+":refs/heads/agent/three")
	p.Fsck()
}

// TestLinks: no link of the agent's leads out of the tree, into .git or to a
// protected path, through whatever is on the way.
func TestLinks(t *testing.T) {
	tier.Full(t, "a push for each link that leads out")
	t.Parallel()
	p := unguarded(t)
	// The PM's own links are what an agent's can go through.
	p.Push(rawCommit(p, files{"up": link(".."), "top/down/up": link("../.."), "ci": link(".github"), "loop": link("loop"), "abs": link("/etc"), "src/a": "x", ".github/x": "x"}, "links", "HEAD") + ":refs/heads/main")
	p.Git("fetch", "-q")
	const protected = "a path that only the PM may change"
	for target, want := range map[string]string{
		"/etc/passwd": "out of its own directory", "../x": "out of its own directory", "a/../../x": "out of its own directory", "a/..": "out of its own directory",
		`C:\x`: "out of its own directory", "c:x": "out of its own directory", `\\host\share`: "backslash", `..\x`: "backslash", "": "no system follows",
		".git/config": "into .git", ".GIT/config": "into .git", "src/.git ": "into .git", "GIT~1": "into .git", "top/down/up/.git/hooks": "into .git", "top/.g\u00adit": "holds the invisible character",
		".github/workflows": protected, ".GitHub": protected, "GITHUB~1/x": protected, "sub/.envrc": protected, "ci/x": protected, "CI/x": protected, ".github": protected,
		"up/x": "out of the tree", "top/down/up/up/x": "out of the tree", "abs/passwd": "out of the tree", "loop/x": "more links", "loop": "more links",
		"a/.. /x": "another path", "x\u202ey": "holds the bidirectional control",
		strings.Repeat("a/", 2100): "no system follows", "not/there/up/.git": "into .git", "src/nothing/.envrc": protected,
	} {
		refuses(t, p.AgentPush, rawCommit(p, files{"agent-link": link(target)}, "a link", "origin/main")+":refs/heads/agent/x", "link/target", want)
	}
	refuses(t, p.AgentPush, rawCommit(p, files{"l1": link("src"), "l2": link("l1/a"), "src/l3": link("./a"), "l4": link("not/there/yet"), "l5": link("src/l3")}, "links", "origin/main")+":refs/heads/agent/x")
	out, err := p.Push(rawCommit(p, files{"to-git": link(".git/config")}, "the PM's", "origin/main") + ":refs/heads/x")
	if err != nil || !strings.Contains(out, "warning: link/target") {
		t.Errorf("%v\n%s", err, out)
	}
	p.Fsck()
}

// TestMergeNamesProtectedPaths: what a merge by the PM brings to protected paths is
// named.
func TestMergeNamesProtectedPaths(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Git("switch", "-q", "-c", "member")
	p.Commit("a/.ENVRC", "x")
	p.Git("switch", "-q", "main")
	p.Commit("other", "x")
	p.Git("merge", "-q", "--no-edit", "member")
	out, err := p.Push("main")
	if err != nil || !strings.Contains(out, "a/.ENVRC: warning: rights/protected: the merge changes a path that runs code") {
		t.Errorf("%v\n%s", err, out)
	}
	p.Commit(".envrc", "x")
	if out, err := p.Push("main"); err != nil || strings.Contains(out, "rights/protected") {
		t.Errorf("%v\n%s", err, out)
	}
}
