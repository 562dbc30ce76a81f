package git

import (
	"bytes"
	"cmp"
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

// Compare orders entries as git does: a directory sorts as if its name ended in a slash, so a file
// and a directory of one name differ.
func (e Entry) Compare(other Entry) int {
	n := min(len(e.Name), len(other.Name))
	return cmp.Or(strings.Compare(e.Name[:n], other.Name[:n]), cmp.Compare(e.next(n), other.next(n)))
}

// next is the byte that stands for the entry behind the first n of its name.
func (e Entry) next(n int) byte {
	switch {
	case n < len(e.Name):
		return e.Name[n]
	case e.IsDir():
		return '/'
	}
	return 0
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
	ids := make([]byte, 0, cap(entries)*2*idLen) // in hex; one string for all of them
	var form *FormError
	for text := string(data); text != ""; {
		e, id, rest, err := parseEntry(text)
		if err != nil && !err.OneMeaning {
			return nil, err
		}
		if err != nil && (form == nil || form.Legacy) {
			form = err
		}
		if n := len(entries); n > 0 && e.Compare(entries[n-1]) <= 0 {
			return nil, broken("tree", "%q does not sort after %q, as git orders them", e.Name, entries[n-1].Name)
		}
		entries, ids, text = append(entries, e), hex.AppendEncode(ids, []byte(id)), rest
	}
	all := string(ids)
	for i := range entries {
		entries[i].ID = all[i*2*idLen : (i+1)*2*idLen]
	}
	if name := twice(entries); name != "" {
		return nil, broken("tree", "%q is there as a file and as a directory", name)
	}
	if form != nil {
		return entries, form
	}
	return entries, nil
}

// parseEntry reads `<mode> <name>\0<id>` from the front of a text.
func parseEntry(text string) (e Entry, id, rest string, form *FormError) {
	space := strings.IndexByte(text[:min(len(text), 8)], ' ')
	if space < 0 {
		return e, "", "", broken("tree", "an entry without a mode")
	}
	if e.Mode, form = parseMode(text[:space]); form != nil && !form.OneMeaning {
		return e, "", "", form
	}
	name, text, whole := strings.Cut(text[space+1:], "\x00")
	if !whole || len(text) < idLen {
		return e, "", "", broken("tree", "it is cut off")
	}
	e.Name, id = name, text[:idLen]
	switch {
	case e.Name == "" || e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/"):
		return e, "", "", broken("tree", "%q is not the name of a file in a directory", e.Name)
	case strings.Trim(id, "\x00") == "":
		return e, "", "", broken("tree", "%q has no object", e.Name)
	case strings.Contains(e.Name, `\`) && form == nil:
		form = odd("tree", "%q holds a backslash, which is a path to some systems", e.Name)
		form.Remedy = "rename it: git mv"
	}
	return e, id, text[idLen:], form
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
		if _, found := slices.BinarySearchFunc(entries, Entry{Name: e.Name}, Entry.Compare); found {
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
