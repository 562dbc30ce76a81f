package git

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
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

// IsDir reports whether the entry is a subtree.
func (e Entry) IsDir() bool { return e.Mode == ModeDir }

// ParseTree reads a tree object of a SHA-1 repository.
func ParseTree(data []byte) ([]Entry, error) {
	const idLen = 20
	entries := make([]Entry, 0, len(data)/36)
	for len(data) > 0 {
		space := bytes.IndexByte(data, ' ')
		if space < 0 {
			return nil, errors.New("broken tree: no mode")
		}
		mode, err := strconv.ParseUint(string(data[:space]), 8, 32)
		if err != nil {
			return nil, fmt.Errorf("broken tree: mode %q", data[:space])
		}
		data = data[space+1:]
		nul := bytes.IndexByte(data, 0)
		if nul <= 0 || len(data) < nul+1+idLen {
			return nil, errors.New("broken tree: cut off")
		}
		entries = append(entries, Entry{Mode(mode), string(data[:nul]), hex.EncodeToString(data[nul+1 : nul+1+idLen])})
		data = data[nul+1+idLen:]
	}
	return entries, nil
}

// FormatTree is the tree object of entries, which must be in git's order:
// by name, a directory as if its name ended in "/".
func FormatTree(entries []Entry) ([]byte, error) {
	var b bytes.Buffer
	for _, e := range entries {
		id, err := hex.DecodeString(e.ID)
		if err != nil || len(id) != 20 {
			return nil, fmt.Errorf("tree entry %q: bad object id", e.Name)
		}
		fmt.Fprintf(&b, "%o %s\x00", e.Mode, e.Name)
		b.Write(id)
	}
	return b.Bytes(), nil
}

// Commit is a parsed commit object. Author and Committer are raw
// (`Name <mail> seconds zone`), as are all strings: nothing is re-encoded.
type Commit struct {
	Tree      string
	Parents   []string
	Author    string
	Committer string
	Header    string // the whole header, signatures included
	Message   string
}

// ParseCommit reads a commit object.
func ParseCommit(data []byte) (*Commit, error) {
	header, message, found := bytes.Cut(data, []byte("\n\n"))
	if !found {
		header = bytes.TrimSuffix(data, []byte("\n"))
	}
	c := &Commit{Header: string(header), Message: string(message)}
	for line := range strings.SplitSeq(c.Header, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		case "author":
			c.Author = value
		case "committer":
			c.Committer = value
		}
	}
	if !IsID(c.Tree) {
		return nil, errors.New("broken commit: no tree")
	}
	for _, p := range c.Parents {
		if !IsID(p) {
			return nil, errors.New("broken commit: bad parent")
		}
	}
	return c, nil
}

// Trailers returns the values of a trailer in the last paragraph of a commit
// message (git-interpret-trailers(1)), key compared without regard to case.
func Trailers(message, key string) []string {
	message = strings.TrimRight(message, " \n")
	if i := strings.LastIndex(message, "\n\n"); i >= 0 {
		message = message[i+2:]
	} else {
		return nil // the only paragraph is the subject
	}
	var values []string
	for line := range strings.SplitSeq(message, "\n") {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.EqualFold(strings.TrimSpace(k), key) {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

// IsID reports whether s is a full SHA-1 object id in lower-case hex.
func IsID(s string) bool {
	if len(s) != 40 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
