package maintain

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/failpoint"
	"git-ward/internal/git"
)

// packFile is a pack of which some objects are to go, or all.
type packFile struct {
	path        string // without its end
	goes, stays []id
}

// maxIndex bounds an index of a pack that is read: 60 million objects.
const maxIndex = 2 << 30

// packsWith are the packs with some of a set's objects. Packs with a .keep file or an index
// format from before 2007 are skipped.
func packsWith(repo *git.Repo, gone set) (list []packFile, err error) {
	indexes, err := os.ReadDir(filepath.Join(repo.Dir, "objects/pack"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range indexes {
		name, isIndex := strings.CutSuffix(e.Name(), ".idx")
		if !isIndex {
			continue
		}
		p := packFile{path: filepath.Join(repo.Dir, "objects/pack", name)}
		if _, err := os.Lstat(p.path + ".keep"); err == nil {
			continue
		}
		ids, err := readIndex(p.path + ".idx")
		if err != nil {
			return nil, err
		}
		for _, i := range ids {
			if gone[i] {
				p.goes = append(p.goes, i)
			} else {
				p.stays = append(p.stays, i)
			}
		}
		if len(p.goes) > 0 {
			list = append(list, p)
		}
	}
	return list, err
}

// readIndex reads the ids in a pack's index (gitformat-pack(5), version 2); none of
// another version.
func readIndex(path string) (ids []id, err error) {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxIndex {
		return nil, errors.Join(err, bound(info))
	}
	data, err := os.ReadFile(path)
	const header, fan = 8, 256 * 4
	if err != nil || len(data) < header+fan || !bytes.HasPrefix(data, []byte("\xfftOc\x00\x00\x00\x02")) {
		return nil, err
	}
	count := int64(binary.BigEndian.Uint32(data[header+fan-4:]))
	data = data[header+fan:]
	if count*int64(len(id{})) > int64(len(data)) {
		return nil, nil
	}
	for n := range count {
		ids = append(ids, id(data[n*int64(len(id{})):]))
	}
	return ids, nil
}

func bound(info os.FileInfo) error {
	if info != nil && info.Size() > maxIndex {
		return errors.New(info.Name() + " is too large to be read")
	}
	return nil
}

// repack writes what stays of a pack into another one.
func (p *packFile) repack(ctx context.Context, repo *git.Repo) error {
	if len(p.stays) == 0 {
		return nil
	}
	var list bytes.Buffer
	for _, i := range p.stays {
		list.WriteString(i.String() + "\n")
	}
	_, err := repo.OutputFrom(ctx, list.Bytes(), "pack-objects", "--quiet", "--delta-base-offset", filepath.Join(repo.Dir, "objects/pack/pack"))
	return err
}

// packFiles are the suffixes of a pack's files. The index is removed first, after which nobody
// finds the pack any more.
var packFiles = []string{".idx", ".rev", ".bitmap", ".mtimes", ".pack"}

// remove takes a pack away.
func (p *packFile) remove() (err error) {
	for _, end := range packFiles {
		if removeErr := os.Remove(p.path + end); !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
			failpoint.Reach("maintain/pack-file-gone")
		}
	}
	return err
}
