// Package held stores what a PM holds out of a directive: criteria and files that decide its
// claims and stand in no ref (PROOF-5). The directive has only their number and their hash.
package held

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
)

const (
	// MaxFiles bounds the files of one directive, in bytes.
	MaxFiles = 48 << 10
	// maxBook bounds all that is held out of one directive, in bytes.
	maxBook = 256 << 10
)

// Book is everything held out of one directive.
type Book struct {
	SchemaVersion string      `json:"schema_version"`
	Salt          string      `json:"salt"` // so that nobody finds by its hash what is easily guessed
	Criteria      []Criterion `json:"criteria"`
	Files         []File      `json:"files"`
}

// Criterion is a held-out criterion, which no worker of the directive sees.
type Criterion struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}

// File is a held-out file. It lies in the judged tree only while a held-out criterion's
// command runs.
type File struct {
	Path       string `json:"path"` // below the root of the tree, with slashes
	Executable bool   `json:"executable"`
	Data       []byte `json:"data"`
}

// New makes a book with a random salt.
func New(criteria []Criterion, files []File) *Book {
	return &Book{SchemaVersion: "1", Salt: rand.Text(), Criteria: criteria, Files: files}
}

// Write stores a book on the host, in the bare repository's directory, and returns its hash in
// hex. Only the hash finds it again, so each text of a directive keeps its own book.
func (b *Book) Write(bare, directive string) (hash string, err error) {
	data, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	if len(data) > maxBook {
		return "", fmt.Errorf("what is held out of %s has %d bytes, more than %d", directive, len(data), maxBook)
	}
	sum := sha256.Sum256(data)
	hash = hex.EncodeToString(sum[:])
	file := name(bare, directive, hash)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return hash, atomicfile.Write(file, data, 0o600)
}

// Read reads a directive's book, by its hash in hex.
func Read(bare, directive, hash string) (*Book, error) {
	data, err := os.ReadFile(name(bare, directive, hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.Hint(fmt.Errorf("what is held out of %s is not on this host", directive), "git ward directive hold %s, on the host, holds it out anew", directive)
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("what is held out of %s is not what the directive names", directive)
	}
	var b Book
	return &b, json.Unmarshal(data, &b)
}

// name is a book's file: ward/held/D-1.HASH.json of the bare repository.
func name(bare, directive, hash string) string {
	return filepath.Join(bare, "ward", "held", directive+"."+hash+".json")
}

// Word has the controls' results for each held-out criterion, on the newest judged claim. It
// stands beside the book and in no ref, because it says more than whether a criterion is met,
// and the agent may learn no more than that.
type Word struct {
	Commit string   `json:"commit"` // that was judged
	Says   []string `json:"says"`   // as protocols/loop has it, in the book's order; "" where none was tried
}

// Write stores the controls' results for a directive's book, by the book's hash in hex.
func (w Word) Write(bare, directive, hash string) error {
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return atomicfile.Write(wordName(bare, directive, hash), data, 0o600)
}

// ReadWord reads the controls' results for a directive's book; there are none before the first
// verdict.
func ReadWord(bare, directive, hash string) (w Word, err error) {
	data, err := os.ReadFile(wordName(bare, directive, hash))
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	return w, json.Unmarshal(data, &w)
}

func wordName(bare, directive, hash string) string {
	return strings.TrimSuffix(name(bare, directive, hash), ".json") + ".word.json"
}
