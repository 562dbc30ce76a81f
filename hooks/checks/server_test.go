package checks_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/checks"
	"git-ward/internal/git"
)

// server is the repository that a fixture's push arrives at: a bare one with loose
// objects, which are written here, and refs.
type server struct {
	t          *testing.T
	dir        string
	objects    string // where new objects go
	quarantine string
	ids        map[string]string // commits, by their names
	trees      map[string]map[string]git.Entry
	time       time.Time
}

func newServer(t *testing.T) *server {
	dir := filepath.Join(t.TempDir(), "remote.git")
	s := &server{t: t, dir: dir, objects: filepath.Join(dir, "objects"), quarantine: filepath.Join(dir, "objects", "tmp_objdir-incoming"),
		ids: map[string]string{}, trees: map[string]map[string]git.Entry{}, time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, folder := range []string{"refs/heads", "objects/pack", "objects/tmp_objdir-incoming/pack"} {
		s.must(os.MkdirAll(filepath.Join(dir, folder), 0o700))
	}
	s.must(os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	s.must(os.WriteFile(filepath.Join(dir, "config"), []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"), 0o600))
	return s
}

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// write writes a loose object (gitformat-loose).
func (s *server) write(kind string, data []byte) (id string) {
	s.t.Helper()
	whole := append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)
	sum := sha1.Sum(whole)
	id = hex.EncodeToString(sum[:])
	for _, objects := range []string{s.objects, filepath.Join(s.dir, "objects")} { // git unpacks no object that is there
		if _, err := os.Stat(filepath.Join(objects, id[:2], id[2:])); err == nil {
			return id
		}
	}
	file := filepath.Join(s.objects, id[:2], id[2:])
	s.must(os.MkdirAll(filepath.Dir(file), 0o700))
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write(whole)
	w.Close()
	s.must(os.WriteFile(file, packed.Bytes(), 0o600))
	return id
}

// tree writes a directory of files, by path below it.
func (s *server) tree(files map[string]git.Entry) string {
	var entries []git.Entry
	folders := map[string]map[string]git.Entry{}
	for path, e := range files {
		name, rest, below := strings.Cut(path, "/")
		if !below {
			e.Name = name
			entries = append(entries, e)
			continue
		}
		if folders[name] == nil {
			folders[name] = map[string]git.Entry{}
		}
		folders[name][rest] = e
	}
	for name, below := range folders {
		entries = append(entries, git.Entry{Mode: git.ModeDir, Name: name, ID: s.tree(below)})
	}
	slices.SortFunc(entries, git.Entry.Compare)
	data, err := git.FormatTree(entries)
	s.must(err)
	return s.write("tree", data)
}

// commit writes a commit and what it changes.
func (s *server) commit(name string, c *fixtureCommit) {
	files := map[string]git.Entry{}
	var header strings.Builder
	for i, parent := range c.parents {
		if s.ids[parent] == "" {
			s.t.Fatalf("%s has the parent %s, which is no commit before it", name, parent)
		}
		fmt.Fprintf(&header, "parent %s\n", s.ids[parent])
		if i == 0 {
			files = cloneFiles(s.trees[parent])
		}
	}
	for path, e := range c.files {
		switch {
		case e.ID == "":
			delete(files, path)
			continue
		case e.Mode == git.ModeDir:
			e.ID = s.write("tree", nil)
		case e.Mode == git.ModeGitlink:
			e.ID = strings.Repeat("5", 40)
		default:
			e.ID = s.write("blob", c.data[path])
		}
		files[path] = e
	}
	s.trees[name] = files
	s.time = s.time.Add(time.Minute)
	when := fmt.Sprintf(" %d +0000", s.time.Unix())
	s.ids[name] = s.write("commit", fmt.Appendf(nil, "tree %s\n%sauthor %s%s\ncommitter %s%s\n%s\n%s",
		s.tree(files), header.String(), c.author, when, c.committer, when, c.headers, c.message))
}

func cloneFiles(files map[string]git.Entry) map[string]git.Entry {
	clone := make(map[string]git.Entry, len(files))
	for path, e := range files {
		clone[path] = e
	}
	return clone
}

// id is the object id of a commit, or of COMMIT:PATH.
func (s *server) id(name string) string {
	commit, path, file := strings.Cut(name, ":")
	id := s.ids[commit]
	if file {
		id = s.trees[commit][path].ID
	}
	if id == "" {
		s.t.Fatalf("there is no object %s", name)
	}
	return id
}

func (s *server) setRef(ref, id string) {
	file := filepath.Join(s.dir, filepath.FromSlash(ref))
	s.must(os.MkdirAll(filepath.Dir(file), 0o700))
	s.must(os.WriteFile(file, []byte(id+"\n"), 0o600))
}

// ref is where a ref is.
func (s *server) ref(ref string) string {
	data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(ref)))
	if err != nil {
		return git.Zero
	}
	if to, symbolic := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: "); symbolic {
		return s.ref(to)
	}
	return strings.TrimSpace(string(data))
}

// judge judges the push as pre-receive does: its objects are in a quarantine.
func (s *server) judge(p *checks.Push) *checks.Result {
	env := map[string]string{
		"GIT_DIR": s.dir, "GIT_OBJECT_DIRECTORY": s.quarantine, "GIT_QUARANTINE_PATH": s.quarantine,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES": filepath.Join(s.dir, "objects"),
	}
	repo, err := git.FromHook(func(name string) string { return env[name] })
	s.must(err)
	batch := repo.Batch(s.t.Context())
	defer batch.Close()
	result, err := checks.Judge(context.Background(), repo, batch, p)
	s.must(err)
	return result
}
