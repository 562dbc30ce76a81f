package loop

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// CheckManifest compares the manifest with the files that it names, the manifest before
// among them, by their digests; read gives a file's content or nil when there is none.
// What is not so is a *Mismatch, several are joined.
func (a Artifacts) CheckManifest(read func(path string) ([]byte, error)) error {
	var all error
	for _, l := range a.Links() {
		_, err := l.read(read)
		all = errors.Join(all, err)
	}
	return all
}

// Mismatch means that a file is missing, or differs from its manifest.
type Mismatch struct {
	Path    string
	Missing bool
}

func (m *Mismatch) Error() string {
	if m.Missing {
		return m.Path + " is missing"
	}
	return m.Path + " has another hash than the manifest says"
}

// read is the file that a link names, where it has the digest that the link says.
func (l Link) read(read func(path string) ([]byte, error)) ([]byte, error) {
	data, err := read(l.Path)
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return nil, &Mismatch{l.Path, true}
	case Digest(data) != l.SHA256:
		return nil, &Mismatch{l.Path, false}
	}
	return data, nil
}

// CheckChain compares a loop's manifests with the files that they name, from the one at
// a path back to the first, or to one that is not what the next one says. Entries that are
// no evidence are left out: what else a record holds goes on changing. visit, which
// may be nil, is told of each manifest, newest first.
func CheckChain(path string, read func(path string) ([]byte, error), visit func(path string, a Artifacts)) error {
	data, all := read(path)
	for data != nil {
		var a Artifacts
		if err := json.Unmarshal(data, &a, json.RejectUnknownMembers(true)); err != nil {
			return errors.Join(all, fmt.Errorf("%s: %w", path, err))
		}
		if visit != nil {
			visit(path, a)
		}
		before := a.Previous
		a.Previous = nil
		for _, l := range a.Links() {
			if strings.HasPrefix(l.Path, "evidence/") {
				_, err := l.read(read)
				all = errors.Join(all, err)
			}
		}
		if before == nil {
			break
		}
		var err error
		data, err = before.read(read) // a digest that holds leads to no circle
		path, all = before.Path, errors.Join(all, err)
	}
	return all
}
