package hooks_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"

	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// The ways in which a mutated object reaches the checks.
const (
	byLoose  = iota // unpacked into the quarantine, as a small push is
	byPack          // in a pack of the quarantine, as a large push is
	byStored        // there already, known to no ref, as after a deleted branch
	ways
)

// gate is a guarded repository at which mutants are judged as in its pre-receive,
// and read by git and by go-git where they are admitted.
type gate struct {
	*gittest.Pair
	main, mainTree, blob string
	subtree, root        string // a small tree; the bytes of main's
	quarantine           string
	config               *config.Config
}

func newGate(t testing.TB) *gate {
	p := newPair(t)
	g := &gate{Pair: p, config: config.Default(), quarantine: filepath.Join(filepath.Dir(p.Bare), "quarantine")}
	g.main = strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	g.mainTree = strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}"))
	g.blob = strings.TrimSpace(p.Git("rev-parse", "HEAD:VERSION"))
	g.subtree = strings.TrimSpace(p.Git("rev-parse", "HEAD:skills"))
	g.root = p.Git("cat-file", "tree", g.mainTree)
	return g
}

// seeds are objects that git wrote, and forms that opened the gate once.
func (g *gate) seeds() []mutant {
	who := "Pat <pat@example.org> 1700000000 +0000"
	head := "tree " + g.mainTree + "\nparent " + g.main + "\nauthor " + who + "\ncommitter " + who + "\n"
	file := entry("100644", "a", g.blob)
	return []mutant{
		{"commit", []byte(head + "\nsubject\n\nbody\n")},
		{"commit", []byte(head + "gpgsig -----BEGIN SSH SIGNATURE-----\n U1NIU0lH\n -----END SSH SIGNATURE-----\n\nsigned\n")},
		{"commit", []byte(head + "encoding ISO-8859-1\n\nM\xfcller\n")},
		{"commit", []byte(head + "tree " + g.mainTree + "\n\nlate tree\n")},
		{"commit", []byte(head + "parent " + g.main + "\n\nlate parent\n")},
		{"tree", []byte(g.root)},
		{"tree", []byte(file + entry("100755", "a-b", g.blob) + entry("40000", "a0", g.subtree) + entry("120000", "b", g.blob))},
		{"tree", []byte(entry("100664", "old", g.blob))},
		{"tree", []byte(file + file)},
		{"tag", []byte("object " + g.main + "\ntype commit\ntag fuzz\ntagger " + who + "\n\nmessage\n")},
	}
}

// mutant is one object's kind and bytes.
type mutant struct {
	kind string
	data []byte
}

// twist changes an object by its own structure: lines of a header and entries of
// a tree come twice, elsewhere, or with another word.
func (m mutant) twist(r *rand.Rand) mutant {
	parts := bytes.SplitAfter(m.data, []byte("\n"))
	if m.kind == "tree" {
		parts = treeParts(m.data)
	}
	parts = slices.Clone(parts)
	if len(parts) == 0 {
		return m
	}
	words := []string{"tree ", "parent ", "author ", "committer ", "encoding ", "gpgsig ", "mergetag ", "object ", "type ", "tag ", "tagger ",
		"100644 ", "100664 ", "040000 ", "40000 ", "120000 ", "160000 ", "100755 ", "0100644 ", "\x00", "\n", " ", "\n\n", "\r", "\t", "..", "/", "\\", "UTF-16", "-", "+", "0", "<", ">"}
	gently := r.IntN(2) == 0 // so that many are admitted, too
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(parts)), r.IntN(len(parts))
		what := r.IntN(6)
		if gently {
			what = 6
		}
		switch what {
		case 0:
			parts = slices.Insert(parts, i, parts[j])
		case 1:
			parts[i], parts[j] = parts[j], parts[i]
		case 2:
			if len(parts) > 1 {
				parts = slices.Delete(parts, i, i+1)
			}
		case 3:
			at := r.IntN(len(parts[i]) + 1)
			parts[i] = slices.Concat(parts[i][:at], []byte(words[r.IntN(len(words))]), parts[i][at:])
		case 4:
			if n := len(parts[i]); n > 0 {
				part := slices.Clone(parts[i])
				part[r.IntN(n)] = byte(r.IntN(256))
				parts[i] = part
			}
		case 5:
			if n := len(parts[i]); n > 0 {
				at := r.IntN(n)
				parts[i] = slices.Concat(parts[i][:at], parts[i][at+1:])
			}
		case 6:
			at := r.IntN(len(parts[i]) + 1)
			parts[i] = slices.Concat(parts[i][:at], []byte{letters[r.IntN(len(letters))]}, parts[i][at:])
		}
	}
	return mutant{m.kind, bytes.Join(parts, nil)}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789 .-_:/\n\xc3\xbc"

// treeParts cuts a tree into its entries, as far as it has any.
func treeParts(data []byte) (parts [][]byte) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, 0) + 1 + 20
		if end <= 20 || end > len(data) {
			end = len(data)
		}
		parts, data = append(parts, data[:end]), data[end:]
	}
	return parts
}

func (m mutant) id() string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", m.kind, len(m.data), m.data))
	return hex.EncodeToString(sum[:])
}

// loose writes an object into an object directory, which may have it already.
func (m mutant) loose(t testing.TB, objects string) (file string) {
	id := m.id()
	if file = filepath.Join(objects, id[:2], id[2:]); exists(file) {
		return ""
	}
	if err := os.MkdirAll(filepath.Join(objects, id[:2]), 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprintf(z, "%s %d\x00%s", m.kind, len(m.data), m.data)
	z.Close()
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// around makes the objects that bring a mutant to a ref: a commit for a tree.
func (g *gate) around(m mutant) (all []mutant, tip string) {
	if m.kind != "tree" {
		return []mutant{m}, m.id()
	}
	who := "Pat <pat@example.org> 1700000000 +0000"
	root := mutant{"tree", []byte(g.root + entry("40000", "zz", m.id()))}
	c := mutant{"commit", fmt.Appendf(nil, "tree %s\nparent %s\nauthor %s\ncommitter %s\n\nm\n", root.id(), g.main, who, who)}
	return []mutant{m, root, c}, c.id()
}

// place puts objects where a push of that way has them, and returns the
// environment that receive-pack gives its hook, and what takes them away again.
func (g *gate) place(t testing.TB, all []mutant, way int) (env []string, drop func()) {
	if err := os.RemoveAll(g.quarantine); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(g.quarantine, "pack"), 0o755); err != nil {
		t.Fatal(err)
	}
	to := g.quarantine
	if way == byStored {
		to = filepath.Join(g.Bare, "objects")
	}
	ids := ""
	var files []string
	for _, m := range all {
		files = append(files, m.loose(t, to))
		ids += m.id() + "\n"
	}
	env = []string{"GIT_DIR=" + g.Bare, "GIT_QUARANTINE_PATH=" + g.quarantine, "GIT_OBJECT_DIRECTORY=" + g.quarantine,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(g.Bare, "objects")}
	if way == byPack {
		if out, err := g.Try(g.Bare, env, ids, "git", "pack-objects", "-q", filepath.Join(g.quarantine, "pack", "pack")); err != nil {
			t.Fatal(err, out)
		}
		for _, file := range files {
			os.Remove(file)
		}
	}
	return env, func() {
		for _, file := range files {
			os.Remove(file)
		}
	}
}

func getenv(env []string) func(string) string {
	return func(name string) string {
		for _, v := range env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// judge is what pre-receive decides of a mutant.
func (g *gate) judge(t testing.TB, env []string, m mutant, tip string, who push.Principal) (admitted bool) {
	repo, err := git.FromHook(getenv(env))
	if err != nil {
		t.Fatal(err)
	}
	batch := repo.Batch(t.Context())
	defer batch.Close()
	ref := "refs/heads/agent/fuzz"
	if m.kind == "tag" {
		ref = "refs/tags/fuzz"
	}
	result, err := checks.Judge(context.Background(), repo, batch, &checks.Push{Principal: who, Config: g.config, Branches: "refs/heads/", Received: true,
		Updates: []push.Update{{Ref: ref, Old: git.Zero, New: tip}}})
	return err == nil && !result.Refused()
}

// compare reads an admitted mutant by Ward, git and go-git.
func (g *gate) compare(t *testing.T, env []string, m mutant) {
	t.Helper()
	var ward, byGit, byGoGit string
	run := func(args ...string) string {
		out, err := g.Try(g.Bare, env, "", "git", args...)
		if err != nil {
			t.Fatalf("git cannot read what was admitted: %v\n%s\n%q", err, out, m.data)
		}
		return out
	}
	if strict, err := g.Try(g.Bare, env, string(m.data), "git", "-c", "fsck.badTagName=ignore", "hash-object", "--stdin", "-t", m.kind); err != nil {
		t.Fatalf("git would not write it: %s\n%q", strict, m.data)
	}
	encoded := &plumbing.MemoryObject{}
	encoded.SetType(map[string]plumbing.ObjectType{"commit": plumbing.CommitObject, "tree": plumbing.TreeObject, "tag": plumbing.TagObject}[m.kind])
	encoded.Write(m.data)
	switch m.kind {
	case "commit":
		c, err := git.ParseCommit(m.data)
		if git.Forgive(err) != nil {
			t.Fatal(err)
		}
		ward = fmt.Sprintf("%s|%s|%s|%s|%s", c.Tree, strings.Join(c.Parents, " "), c.Text(c.Author), c.Text(c.Committer), strings.TrimRight(c.Text(c.Message), "\n"))
		byGit = strings.TrimRight(run("log", "-1", "--no-walk", "--date=raw", "--format=%T|%P|%an <%ae> %ad|%cn <%ce> %cd|%B", m.id()), "\n")
		gc, err := object.DecodeCommit(memory.NewStorage(), encoded)
		if err != nil {
			t.Fatal(err)
		}
		byGoGit = gc.TreeHash.String() + "|" + joinHashes(gc.ParentHashes)
	case "tree":
		entries, err := git.ParseTree(m.data)
		if git.Forgive(err) != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			ward += fmt.Sprintf("%06o %s %s\n", e.Mode, e.ID, e.Name)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(run("ls-tree", "-z", m.id()), "\x00"), "\x00") {
			if entry, name, ok := strings.Cut(line, "\t"); ok { // <mode> <kind> <id>
				byGit += entry[:7] + entry[len(entry)-40:] + " " + name + "\n"
			}
		}
		gt := &object.Tree{}
		if err := gt.Decode(encoded); err != nil {
			t.Fatal(err)
		}
		for _, e := range gt.Entries {
			byGoGit += fmt.Sprintf("%06o %s %s\n", uint32(e.Mode), e.Hash, e.Name)
		}
		byGit, byGoGit = legacyMode.ReplaceAllString(byGit, "100644 "), legacyMode.ReplaceAllString(byGoGit, "100644 ")
	case "tag":
		tag, err := git.ParseTag(m.data)
		if git.Forgive(err) != nil {
			t.Fatal(err)
		}
		ward = tag.Object + "|" + tag.Kind + "|" + tag.Name
		byGit = strings.TrimSpace(run("rev-parse", m.id()+"^{commit}")) + "|" + tag.Kind + "|" + tag.Name
		gt := &object.Tag{}
		if err := gt.Decode(encoded); err != nil {
			t.Fatal(err)
		}
		byGoGit = gt.Target.String() + "|" + gt.TargetType.String() + "|" + gt.Name
	}
	if ward != byGit {
		t.Fatalf("admitted and read otherwise by git:\nward %q\ngit  %q\n%q", ward, byGit, m.data)
	}
	if !strings.HasPrefix(ward, byGoGit) {
		t.Fatalf("admitted and read otherwise by go-git:\nward   %q\ngo-git %q\n%q", ward, byGoGit, m.data)
	}
}

// legacyMode is checked out as a plain file, and read as one by Ward.
var legacyMode = regexp.MustCompile(`(?m)^100664 `)

func joinHashes(list []plumbing.Hash) string {
	var all []string
	for _, h := range list {
		all = append(all, h.String())
	}
	return strings.Join(all, " ")
}

// tally counts what became of mutants, for the line at the end.
var tally struct {
	sync.Mutex
	judged, admitted [3]int
}

// try judges one mutant and compares the readings of one that is admitted.
func (g *gate) try(t *testing.T, m mutant, way int, who push.Principal) (admitted bool) {
	t.Helper()
	if m.kind == "tag" {
		who = push.PM // the agent pushes no tags
	}
	all, tip := g.around(m)
	env, drop := g.place(t, all, way)
	defer drop()
	admitted = g.judge(t, env, m, tip, who)
	tally.Lock()
	tally.judged[way]++
	if admitted {
		tally.admitted[way]++
	}
	tally.Unlock()
	if admitted {
		g.compare(t, env, m)
	}
	return admitted
}

// standIns puts ids in the place of this repository's, which are others each time, so
// that a corpus means the same everywhere; or takes them out again.
func (g *gate) standIns(data []byte, out bool) []byte {
	for i, id := range []string{g.main, g.mainTree, g.blob, g.subtree} {
		fixed := strings.Repeat(fmt.Sprint(i+1), len(id))
		for _, pair := range [][2]string{{id, fixed}, {string(rawID(id)), string(rawID(fixed))}} {
			if out {
				pair[0], pair[1] = pair[1], pair[0]
			}
			data = bytes.ReplaceAll(data, []byte(pair[0]), []byte(pair[1]))
		}
	}
	return data
}

func rawID(id string) []byte {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic(err)
	}
	return raw
}

// FuzzGate mutates objects that git wrote, byte by byte and by their structure, and
// has them judged as a push is, loose, packed and stored: no object is admitted
// that git or go-git reads otherwise than Ward (GATE-3). Each mutant counts, because
// each reaches the checks that admit.
func FuzzGate(f *testing.F) {
	g := newGate(f)
	for i, m := range g.seeds() {
		for way := range ways {
			f.Add(uint8(slices.Index(kinds, m.kind)), g.standIns(m.data, false), uint64(0), uint8(way+i%2*ways))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte, seed uint64, how uint8) {
		g.T = t // not the fuzzer, whose helpers are closed here
		m := mutant{kinds[int(kind)%len(kinds)], g.standIns(data, true)}
		if seed != 0 {
			m = m.twist(rand.New(rand.NewPCG(seed, 1)))
		}
		who := push.PM
		if int(how)/ways%2 == 1 {
			who = push.Agent
		}
		g.try(t, m, int(how)%ways, who)
	})
}

var kinds = []string{"commit", "tree", "tag"}

// TestGateAgainstGit is the fuzzer's structural half with a fixed beginning. With
// WARD_FUZZ it runs for that long: `WARD_FUZZ=1h go test ./hooks -run AgainstGit
// -timeout 0 -v` prints how many mutants were judged and admitted.
func TestGateAgainstGit(t *testing.T) {
	tier.Full(t, "git, go-git and Ward read some hundred objects")
	g := newGate(t)
	seeds := g.seeds()
	for _, m := range seeds { // git's own forms do pass
		admitted := g.try(t, m, byLoose, push.PM)
		if want := !strings.Contains(string(m.data), "late") && bytes.Count(m.data, []byte("100644 a\x00")) < 2; admitted != want {
			t.Errorf("admitted %v: %q", admitted, m.data)
		}
	}
	more, seed := fuzzTime(t, 400), uint64(1)
	if os.Getenv("WARD_FUZZ") != "" {
		seed = rand.Uint64()
	}
	r := rand.New(rand.NewPCG(seed, 2))
	t.Cleanup(func() {
		t.Logf("judged %v, admitted %v (loose, packed, stored): git, go-git and Ward read each admitted one alike, but for what is named above", tally.judged, tally.admitted)
	})
	for n := 0; more(n); n++ {
		if n%1000 == 0 && !g.try(t, seeds[0], byLoose, push.PM) {
			t.Fatalf("after %d mutants, not even git's own commit is admitted: what ran since proves nothing", n)
		}
		m := seeds[r.IntN(len(seeds))].twist(r)
		way := byLoose
		if k := r.IntN(10); k < ways {
			way = k
		}
		who := []push.Principal{push.PM, push.Agent}[r.IntN(2)]
		g.try(t, m, way, who)
		if t.Failed() {
			t.Fatalf("seed %d, mutant %d", seed, n)
		}
	}
}
