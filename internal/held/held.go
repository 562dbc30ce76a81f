// Package held keeps what a directive's PM holds out: criteria and files that decide on its
// claims, and that stand in no ref (PROOF-5). The directive has their number and their hash.
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

// Book is what is held out of one directive.
type Book struct {
	SchemaVersion string      `json:"schema_version"`
	Salt          string      `json:"salt"` // so that nobody finds by its hash what is easily guessed
	Criteria      []Criterion `json:"criteria"`
	Files         []File      `json:"files"`
}

// Criterion is one that nobody sees who works on the directive.
type Criterion struct {
	Text    string `json:"text"`
	Command string `json:"command"`
}

// File is one that lies in the judged tree while such a criterion's command runs.
type File struct {
	Path       string `json:"path"` // below the root of the tree, with slashes
	Executable bool   `json:"executable"`
	Data       []byte `json:"data"`
}

// New is a book with a salt of its own.
func New(criteria []Criterion, files []File) *Book {
	return &Book{SchemaVersion: "1", Salt: rand.Text(), Criteria: criteria, Files: files}
}

// Write keeps a book on the host, in the bare repository's own directory, and returns its
// hash in hex. Nothing but the hash finds it again: a directive of another text keeps its own.
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

// Word is what the controls came to of each criterion that is held out, on the newest claim that
// was judged. It stands beside the book and in no ref: it says more of a criterion than whether
// it is met, which is all that the agent is to learn.
type Word struct {
	Commit string   `json:"commit"` // that was judged
	Says   []string `json:"says"`   // as protocols/loop has it, in the book's order; "" where none was tried
}

// Write keeps the word on a directive's book, by its hash in hex.
func (w Word) Write(bare, directive, hash string) error {
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return atomicfile.Write(wordName(bare, directive, hash), data, 0o600)
}

// ReadWord reads the word on a directive's book; there is none where nothing was judged by it.
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
