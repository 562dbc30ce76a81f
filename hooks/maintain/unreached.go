package maintain

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/protocols/record"
)

// id is an object's id, in half of its letters: a set of them may be large.
type id [20]byte

func parseID(text string) (i id, ok bool) {
	if len(text) != 2*len(i) {
		return i, false
	}
	_, err := hex.Decode(i[:], []byte(text))
	return i, err == nil
}

func (i id) String() string { return hex.EncodeToString(i[:]) }

type set map[id]bool

// agents reports whether a ref is of those that only the agent's work makes large.
func agents(ref string) bool {
	return push.IsAgentBranch(ref) || push.IsJournal(ref) || strings.HasPrefix(ref, record.Prefix)
}

// brought are the tips that pushes brought, as the audit has them: the agent's to its own
// refs, and everybody's else.
func brought(chain []audit.Link) (agent, others set) {
	agent, others = set{}, set{}
	for _, l := range chain {
		for _, ref := range l.Refs {
			tip, ok := parseID(ref.New)
			switch {
			case !ok || ref.New == git.Zero || l.Verdict == audit.Refused:
			case byAgent(l.Principal) && agents(audit.UnquoteRef(ref.Ref)):
				agent[tip] = true
			case !byAgent(l.Principal):
				others[tip] = true
			}
		}
	}
	return agent, others
}

// byAgent reports whether a push is not a person's: the watcher's is on top of the agent's.
func byAgent(principal string) bool {
	return principal == string(push.Agent) || principal == string(push.Watcher)
}

// kinds are objects with their kinds: commit, tree, blob or tag.
type kinds map[id]string

// unreached are the objects reached by no ref, reflog, index or work tree, nor by an
// unfinished operation such as a merge.
func unreached(ctx context.Context, repo *git.Repo) (kinds, error) {
	text := map[string]string{"commit": "commit", "tree": "tree", "blob": "blob", "tag": "tag"} // one text for all of a kind
	all := kinds{}
	for line, err := range repo.Lines(ctx, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objecttype)") {
		if err != nil {
			return nil, err
		}
		name, kind, _ := strings.Cut(line, " ")
		if i, ok := parseID(name); ok {
			all[i] = text[kind]
		}
	}
	for line, err := range repo.Lines(ctx, "rev-list", "--objects", "--no-object-names", "--all", "--reflog", "--indexed-objects") {
		if err != nil {
			return nil, err
		}
		if i, ok := parseID(line); ok {
			delete(all, i)
		}
	}
	roots, err := underWay(repo.Dir)
	if err != nil || len(roots) == 0 {
		return all, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	kept, err := closure(batch, all, roots)
	for i := range kept {
		delete(all, i)
	}
	return all, err
}

// known are the entries of a repository whose objects rev-list already covers, or that contain
// no ids: packed-refs and info/refs may list former values.
var known = []string{"objects", "refs", "packed-refs", "info", "logs", "hooks", "ward", "lfs", "modules"}

// underWay are the objects named in files of a repository and its work trees: MERGE_HEAD,
// FETCH_HEAD, the state of a rebase or sequencer. A list of these files could not be complete,
// so every id in an unknown file counts. Indexes have binary ids, and rev-list reads them.
func underWay(dir string) (set, error) {
	found := set{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has come to its end meanwhile
			return nil
		case err != nil:
			return err
		case filepath.Dir(path) == dir && slices.Contains(known, e.Name()):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !e.Type().IsRegular() || e.Name() == "index":
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		}
		defer f.Close()
		return found.named(f)
	})
	return found, err
}

// named adds each id that a text has.
func (s set) named(text io.Reader) error {
	var word []byte
	for r := bufio.NewReader(text); ; {
		c, err := r.ReadByte()
		if err == nil && strings.IndexByte("0123456789abcdef", c) >= 0 {
			if len(word) <= 2*len(id{}) { // a longer one is none
				word = append(word, c)
			}
			continue
		}
		if i, ok := parseID(string(word)); ok {
			s[i] = true
		}
		if word = word[:0]; err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// garbage are the unreached objects that only the agent's former tips reach: not those of
// people's former tips, or of an object of unknown origin, such as one just written by a host
// program.
func garbage(batch *git.Batch, loose kinds, agent, others set) (set, error) {
	of, err := closure(batch, loose, agent)
	if err != nil {
		return nil, err
	}
	roots := set{}
	for i := range loose {
		if !of[i] || others[i] {
			roots[i] = true
		}
	}
	kept, err := closure(batch, loose, roots)
	for i := range kept {
		delete(of, i)
	}
	return of, err
}

// maxObject bounds a commit, tree or tag that is read: what the checks let in, and more.
const maxObject = 64 << 20

// closure are the objects within some that a few of them lead to, these included.
func closure(batch *git.Batch, within kinds, from set) (set, error) {
	found, next := set{}, []id{}
	meet := func(i id) {
		if within[i] == "" || found[i] {
			return
		}
		if found[i] = true; within[i] != "blob" {
			next = append(next, i)
		}
	}
	for i := range from {
		meet(i)
	}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		_, data, err := batch.Read(i.String(), maxObject)
		if errors.Is(err, git.ErrMissing) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, err
		}
		for _, n := range names(within[i], data) {
			meet(n)
		}
	}
	return found, nil
}

// names are the ids in a commit, tree or tag. Malformed ones are read as far as possible, so
// that one old object does not block the rest.
func names(kind string, data []byte) (ids []id) {
	if kind == "tree" {
		for {
			_, rest, ok := bytes.Cut(data, []byte{0})
			if !ok || len(rest) < len(id{}) {
				return ids
			}
			ids, data = append(ids, id(rest[:len(id{})])), rest[len(id{}):]
		}
	}
	header, _, _ := bytes.Cut(data, []byte("\n\n"))
	for line := range bytes.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if i, ok := parseID(value); ok && (key == "tree" || key == "parent" || key == "object") {
			ids = append(ids, i)
		}
	}
	return ids
}
