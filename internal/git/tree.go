package git

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mode is a tree entry's mode.
type Mode uint32

// The modes that git writes (gitformat: tree objects).
const (
	ModeDir     Mode = 0o040000
	ModeFile    Mode = 0o100644
	ModeExec    Mode = 0o100755
	ModeSymlink Mode = 0o120000
	ModeGitlink Mode = 0o160000
)

// Entry is one line of a tree. Names are bytes as git holds them.
type Entry struct {
	Mode Mode
	Name string
	ID   string
}

// Kind is the kind of a mode in words; an executable is a file, too.
func (m Mode) Kind() string {
	switch m {
	case ModeDir:
		return "directory"
	case ModeSymlink:
		return "link"
	case ModeGitlink:
		return "submodule"
	}
	return "file"
}

// IsDir reports whether the entry is a subtree.
func (e Entry) IsDir() bool { return e.Mode == ModeDir }

// IsRegular reports whether the entry is a regular file, executable or not.
func (e Entry) IsRegular() bool { return e.Mode == ModeFile || e.Mode == ModeExec }

// SortKey is what git orders a tree by: a directory sorts as if its name ended in
// a slash, so a file and a directory of one name have different keys.
func (e Entry) SortKey() string {
	if e.IsDir() {
		return e.Name + "/"
	}
	return e.Name
}

const idLen = 20 // bytes of a SHA-1 object id

// ParseTree reads a tree object of a SHA-1 repository. Anything but what git
// writes is a *FormError: another order, a name twice, a mode that is none of
// git's, a name that is no plain file name. With a FormError of one meaning the
// entries are returned, too.
//
// A group-writable file of old (100664) is returned as a plain file, which is how
// git checks it out.
func ParseTree(data []byte) ([]Entry, error) {
	entries := make([]Entry, 0, len(data)/36)
	var form *FormError
	last := ""
	for len(data) > 0 {
		e, rest, err := parseEntry(data)
		if err != nil && !err.OneMeaning {
			return nil, err
		}
		if err != nil && (form == nil || form.Legacy) {
			form = err
		}
		key := e.SortKey()
		if key <= last {
			return nil, broken("tree", "%q does not sort after %q, as git orders them", e.Name, entries[len(entries)-1].Name)
		}
		entries, data, last = append(entries, e), rest, key
	}
	if name := twice(entries); name != "" {
		return nil, broken("tree", "%q is there as a file and as a directory", name)
	}
	if form != nil {
		return entries, form
	}
	return entries, nil
}

// parseEntry reads `<mode> <name>\0<id>` from the front of data.
func parseEntry(data []byte) (e Entry, rest []byte, form *FormError) {
	space := bytes.IndexByte(data[:min(len(data), 8)], ' ')
	if space < 0 {
		return e, nil, broken("tree", "an entry without a mode")
	}
	if e.Mode, form = parseMode(string(data[:space])); form != nil && !form.OneMeaning {
		return e, nil, form
	}
	data = data[space+1:]
	nul := bytes.IndexByte(data, 0)
	if nul < 0 || len(data) < nul+1+idLen {
		return e, nil, broken("tree", "it is cut off")
	}
	e.Name, e.ID = string(data[:nul]), hex.EncodeToString(data[nul+1:nul+1+idLen])
	switch {
	case e.Name == "" || e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/"):
		return e, nil, broken("tree", "%q is not the name of a file in a directory", e.Name)
	case e.ID == Zero:
		return e, nil, broken("tree", "%q has no object", e.Name)
	case strings.Contains(e.Name, `\`) && form == nil:
		form = odd("tree", "%q holds a backslash, which is a path to some systems", e.Name)
		form.Remedy = "rename it: git mv"
	}
	return e, data[nul+1+idLen:], form
}

// parseMode takes git's own spellings only.
func parseMode(text string) (Mode, *FormError) {
	switch text {
	case "100644":
		return ModeFile, nil
	case "40000":
		return ModeDir, nil
	case "100755":
		return ModeExec, nil
	case "120000":
		return ModeSymlink, nil
	case "160000":
		return ModeGitlink, nil
	case "100664":
		return ModeFile, legacy("tree", "the mode 100664 is one that git no longer writes")
	case "040000":
		return ModeDir, odd("tree", "the mode 040000 is written with a zero in front")
	}
	if n, err := strconv.ParseUint(text, 8, 32); err == nil && len(text) == 6 && strings.HasPrefix(text, "100") {
		mode := ModeFile // git checks it out by its owner's x alone (cache.h, canon_mode)
		if n&0o100 != 0 {
			mode = ModeExec
		}
		return mode, odd("tree", "the mode %s is not one that git writes", text)
	}
	return 0, broken("tree", "the mode %q is not one that git writes", text)
}

// twice is a name that stands there as a file and as a directory: the two have
// different keys, so they need not be neighbours.
func twice(entries []Entry) string {
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, found := slices.BinarySearchFunc(entries, e.Name, func(o Entry, name string) int {
			return strings.Compare(o.SortKey(), name)
		}); found {
			return e.Name
		}
	}
	return ""
}

// FormatTree is the tree object of entries, which must be in git's order:
// by name, a directory as if its name ended in "/".
func FormatTree(entries []Entry) ([]byte, error) {
	var b bytes.Buffer
	for _, e := range entries {
		id, err := hex.DecodeString(e.ID)
		if err != nil || len(id) != idLen {
			return nil, fmt.Errorf("tree entry %q: bad object id", e.Name)
		}
		fmt.Fprintf(&b, "%o %s\x00", e.Mode, e.Name)
		b.Write(id)
	}
	return b.Bytes(), nil
}
