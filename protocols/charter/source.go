package charter

import (
	"cmp"
	"slices"
	"strings"
)

// The paths of protocols, and of what is compiled from them, in a repository.
const (
	Dir      = "protocols/"
	Compiled = "AGENTS.md"
)

// Limits of a tree of protocols: bytes of one source, their number, and bytes of
// all of them, which bounds AGENTS.md.
const (
	MaxBytes = 256 << 10
	MaxFiles = 1000
	MaxTotal = 4 << 20
)

const (
	jsonSuffix  = ".protocol.json"
	proseSuffix = ".protocol.md"
)

// File is a source: its path in the repository, with forward slashes, and its
// content.
type File struct {
	Path string
	Data []byte
}

// IsProtocol reports whether a path is that of a protocol.
func IsProtocol(path string) bool {
	return strings.HasPrefix(path, Dir) && strings.HasSuffix(path, jsonSuffix)
}

// IsProse reports whether a path is that of prose about protocols.
func IsProse(path string) bool {
	return strings.HasPrefix(path, Dir) && strings.HasSuffix(path, proseSuffix)
}

// IsSource reports whether the file at path is a source of AGENTS.md.
func IsSource(path string) bool { return IsProtocol(path) || IsProse(path) }

// sources are the files that count, in file order: by path, byte by byte.
func sources(files []File) []File {
	files = slices.DeleteFunc(slices.Clone(files), func(f File) bool { return !IsSource(f.Path) })
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}
