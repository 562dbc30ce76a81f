package loop

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// CheckManifest compares the digests in the manifest with the files that it lists, the previous
// manifest included. read returns a file's content, nil if there is none. The error joins one
// *Mismatch for each file that is missing or differs.
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

// read returns the content of the linked file, or a *Mismatch if its digest is not the link's.
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

// CheckChain checks the manifest at path and all before it, as CheckManifest does. It stops at the
// first manifest whose digest is not the one that its successor states. It skips files outside
// evidence/, because the record's other files may change later. visit, which may be nil, is called
// with each manifest, newest first.
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
		data, err = before.read(read) // digests that match cannot form a cycle
		path, all = before.Path, errors.Join(all, err)
	}
	return all
}
