package hooks_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/hooks/push"
	"git-ward/internal/configtest"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// entry is one line of a tree object.
func entry(mode, name, id string) string {
	return mode + " " + name + "\x00" + string(rawID(id))
}

func commitOf(p *gittest.Pair, tree, parent string) string {
	who := "Pat <pat@example.org> 1700000000 +0000"
	return p.Object("commit", fmt.Sprintf("tree %s\nparent %s\nauthor %s\ncommitter %s\n\nbomb\n", tree, parent, who, who))
}

// refusedWith pushes a commit as the agent to a branch of its own and wants the
// refusal to say one of the texts, quickly enough that nothing hangs: the test's
// own time limit is the bound.
func refusedWith(t *testing.T, p *gittest.Pair, commit string, texts ...string) {
	t.Helper()
	out, err := p.AgentPush(commit + ":refs/heads/agent/bomb")
	if err == nil {
		t.Fatalf("the push was admitted:\n%s", out)
	}
	for _, text := range texts {
		if strings.Contains(out, text) {
			p.Fsck()
			return
		}
	}
	t.Fatalf("want one of %q in:\n%s", texts, out)
}

// rawPush sends objects and ref updates straight to receive-pack as the agent.
// A client's own git would die of some bombs before it sends them.
func rawPush(p *gittest.Pair, objects []string, updates ...push.Update) string {
	p.T.Helper()
	token, err := gittest.AgentToken(p.Bare)
	if err != nil {
		p.T.Fatal(err)
	}
	pack, err := p.Try(p.Work, nil, strings.Join(objects, "\n")+"\n", "git", "pack-objects", "--stdout", "--quiet", "--window=0")
	if err != nil {
		p.T.Fatal(err, pack)
	}
	return rawPack(p, token, pack, updates...)
}

func rawPack(p *gittest.Pair, env []string, pack string, updates ...push.Update) string {
	p.T.Helper()
	out, _ := p.Try(filepath.Dir(p.Bare), env, pktLines(updates...)+pack, "git", "receive-pack", p.Bare)
	for _, u := range updates {
		if id, err := git.Open(p.Bare).Ref(p.T.Context(), u.Ref); err != nil || id == u.New {
			p.T.Errorf("%s entered (%v):\n%s", u.Ref, err, out)
		}
	}
	p.Fsck()
	return out
}

// pktLines are ref updates as a client sends them (gitprotocol-pack(5)).
func pktLines(updates ...push.Update) string {
	input := ""
	for i, u := range updates {
		text := u.Old + " " + u.New + " " + u.Ref
		if i == 0 {
			text += "\x00report-status"
		}
		input += fmt.Sprintf("%04x%s", len(text)+4, text)
	}
	return input + "0000"
}

// patient is a pair whose hook has minutes for a push: these tests are about the limits that
// count work, which a busy machine meets later than the deadline.
func patient(t *testing.T) *gittest.Pair {
	p := newPair(t)
	configtest.Set(p.T, p.Bare, `deadline = "5m"`)
	return p
}

func TestTreeOfAMillionPaths(t *testing.T) {
	tier.Full(t, "a tree of a million paths")
	p := patient(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	blob := p.Object("blob", "x")
	tree := ""
	level := func(mode, id string) string {
		var b strings.Builder
		for i := range 100 {
			b.WriteString(entry(mode, fmt.Sprintf("n%02d", i), id))
		}
		return p.Object("tree", b.String())
	}
	tree = level("100644", blob)
	tree = level("40000", tree)
	tree = level("40000", tree) // 1,000,000 paths in three objects
	refusedWith(t, p, commitOf(p, tree, head), "limit/shape: more than 100000 changed paths")
}

func TestTreeWithoutFiles(t *testing.T) {
	tier.Full(t, "a tree of many directories in five shapes")
	p := patient(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	tree := p.Object("tree", entry("100644", "f", p.Object("blob", "x")))
	for range 60 { // 2^60 directories and paths
		tree = p.Object("tree", entry("40000", "a", tree)+entry("40000", "b", tree))
	}
	refusedWith(t, p, commitOf(p, tree, head), "limit/shape: more than 100000 changed paths")
}

func TestTree60000Deep(t *testing.T) {
	tier.Full(t, "git itself takes ten seconds to make a tree of 60,000 levels")
	p := patient(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	blob := p.Object("blob", "x")
	repo := git.Open(filepath.Join(p.Work, ".git"))
	objects := []string{blob}
	add := func(kind, content string) string {
		id, err := repo.WriteObject(kind, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, id)
		return id
	}
	tree := add("tree", entry("100644", "f", blob))
	for range 60_000 {
		tree = add("tree", entry("40000", "d", tree))
	}
	commit := commitOf(p, tree, head)
	// Git's own connectivity check may die of it before the hook sees it; the
	// push must end refused in every case.
	out := rawPush(p, append(objects, commit), push.Update{Ref: "refs/heads/agent/bomb", Old: git.Zero, New: commit})
	if !strings.Contains(out, "more than 100 directories deep") && !strings.Contains(out, "ng refs/heads/agent/bomb") {
		t.Errorf("no refusal:\n%s", out)
	}

	tree = p.Object("tree", entry("100644", "f", blob))
	for range 101 {
		tree = p.Object("tree", entry("40000", "d", tree))
	}
	refusedWith(t, p, commitOf(p, tree, head), "limit/shape: more than 100 directories deep")
}

func TestPathTooLong(t *testing.T) {
	t.Parallel()
	p := patient(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	tree := p.Object("tree", entry("100644", strings.Repeat("n", 200), p.Object("blob", "x")))
	for range 6 {
		tree = p.Object("tree", entry("40000", strings.Repeat("d", 200), tree))
	}
	refusedWith(t, p, commitOf(p, tree, head), "limit/shape: the path has ")
}

func TestZlibBomb(t *testing.T) {
	tier.Full(t, "objects that grow to gigabytes")
	p := patient(t)
	if err := os.WriteFile(filepath.Join(p.Work, "zeros"), make([]byte, 300<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Git("add", "zeros")
	p.Git("commit", "--quiet", "-m", "zeros")
	out, err := p.AgentPush("HEAD:refs/heads/agent/bomb")
	if err == nil || !strings.Contains(out, "zeros: limit/blob: the file has 314572800 bytes, more than 10485760") {
		t.Fatalf("%v\n%s", err, out)
	}
	p.Fsck()
}

func TestBrokenTree(t *testing.T) {
	t.Parallel()
	p := patient(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	blob := p.Object("blob", "x")
	for name, tree := range map[string]string{
		"twice":    entry("100644", "a", blob) + entry("100644", "a", blob),
		"unsorted": entry("100644", "b", blob) + entry("100644", "a", blob),
		"dotgit":   entry("40000", ".GIT", p.Object("tree", entry("100644", "config", blob))),
		"slash":    entry("100644", "a/b", blob),
		"mode":     entry("100600", "a", blob),
		"cut off":  "100644 a\x00short",
	} {
		t.Run(name, func(t *testing.T) {
			refusedWith(t, p, commitOf(p, p.Object("tree", tree), head), "error: ", "fatal: ", "mode/unknown", "path/name")
		})
	}
}

func TestOctopusAndRoots(t *testing.T) {
	t.Parallel()
	p := patient(t)
	tree := strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}"))
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	who := "Pat <pat@example.org> 1700000000 +0000"
	var parents strings.Builder
	for i := range 40 {
		id := p.Object("commit", fmt.Sprintf("tree %s\nparent %s\nauthor %s\ncommitter %s\n\n%d\n", tree, head, who, who, i))
		fmt.Fprintf(&parents, "parent %s\n", id)
	}
	octopus := p.Object("commit", fmt.Sprintf("tree %s\n%sauthor %s\ncommitter %s\n\noctopus\n", tree, parents.String(), who, who))
	refusedWith(t, p, octopus, "has 40 parents, more than 16")
}

// A link and a file can have the same content; judging the content once must
// not let the link through.
func TestLinkWithTheContentOfAFile(t *testing.T) {
	t.Parallel()
	p := patient(t)
	p.Git("switch", "--quiet", "--create", "agent/x")
	p.Commit("a-file", "../../etc")
	if err := os.Symlink("../../etc", filepath.Join(p.Work, "b-link")); err != nil {
		t.Fatal(err)
	}
	p.Git("add", ".")
	p.Git("commit", "--quiet", "-m", "link")
	out, err := p.AgentPush("agent/x")
	if err == nil || !strings.Contains(out, "b-link: link/target") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A forged old value must not hide commits from the checks of another ref.
func TestForgedOldValue(t *testing.T) {
	t.Parallel()
	p := patient(t)
	p.Git("switch", "--quiet", "--create", "agent/x")
	p.Commit("logs/secret", "x")
	dirty := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Commit("clean", "x")
	clean := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	objects := strings.Fields(p.Git("rev-list", "--objects", "--no-object-names", clean, "^origin/main"))
	out := rawPush(p, objects, push.Update{Ref: "refs/heads/agent/a", Old: dirty, New: clean},
		push.Update{Ref: "refs/heads/agent/b", Old: git.Zero, New: clean})
	if !strings.Contains(out, "ref/stale") {
		t.Errorf("no finding:\n%s", out)
	}
}

func TestManyCommitsAndRefs(t *testing.T) {
	tier.Full(t, "pushes of thousands of commits and refs")
	p := patient(t)
	var stream bytes.Buffer
	stream.WriteString("feature done\nreset refs/heads/topic\nfrom refs/heads/main\n\n")
	for i := range 1000 {
		fmt.Fprintf(&stream, "commit refs/heads/topic\ncommitter Pat <pat@example.org> %d +0000\ndata 2\nc\nM 100644 inline dir%d/file%d\ndata 4\n%04d", 1700000000+i, i%10, i, i)
		stream.WriteString("\n")
	}
	stream.WriteString("done\n")
	if out, err := p.Try(p.Work, nil, stream.String(), "git", "fast-import", "--quiet"); err != nil {
		t.Fatal(err, out)
	}
	if out, err := p.Push("topic"); err != nil {
		t.Fatal(err, out)
	}
	if out := p.Run(p.Bare, "git-ward", "log", "--json", "-n", "1"); !strings.Contains(out, `"commits":1000`) {
		t.Error(out)
	}
	// A branch whose commits are stored already is judged as new when it comes back.
	p.Git("push", "--quiet", "origin", "--delete", "topic")
	if out, err := p.Push("topic"); err != nil {
		t.Fatal(err, out)
	}
	if out := p.Run(p.Bare, "git-ward", "log", "--json", "-n", "1"); !strings.Contains(out, `"commits":1000`) {
		t.Error(out)
	}
	refspecs := make([]string, 201)
	for i := range refspecs {
		refspecs[i] = fmt.Sprintf("topic~%d:refs/heads/agent/b%d", i, i)
	}
	if out, err := p.AgentPush(refspecs...); err == nil || !strings.Contains(out, "rights/branches: the agent would have more than 200") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := p.AgentPush(refspecs[:200]...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := p.AgentPush(refspecs[200]); err == nil || !strings.Contains(out, "rights/branches") {
		t.Fatalf("%v\n%s", err, out)
	}
	p.Fsck()
}
