package runstate

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
)

// judgingPath is where a launcher says which verdict it is at, and suitePath how the suite
// ended on the project's branch, below the repository.
const (
	judgingPath = "ward/judging.json"
	suitePath   = "ward/suite.json"
)

// maxFile bounds what is read of a file of a few words, in bytes.
const maxFile = 64 << 10

// stale is how old words about something that runs may be: they come each 2 seconds.
const stale = 15 * time.Second

// Judging is how far a verdict is that somebody waits for.
type Judging struct {
	Unit  string    `json:"unit"`
	Words string    `json:"words"` // one line, cleaned
	Time  time.Time `json:"time"`  // of these words
}

// JudgingNow is the verdict that the repository's launcher is at; ok is false where it
// is at none, or nothing runs.
func JudgingNow(bare string) (j Judging, ok bool) {
	if _, running := Running(bare); !running || !read(bare, judgingPath, &j) || time.Since(j.Time) > stale {
		return Judging{}, false
	}
	j.Unit, j.Words = diag.Clean(j.Unit), diag.Clean(j.Words)
	return j, true
}

// Tell writes down how far a verdict is.
func (j Judging) Tell(bare string) error { return write(bare, judgingPath, j) }

// NotJudging says that no verdict runs.
func NotJudging(bare string) { os.Remove(filepath.Join(bare, judgingPath)) }

// Suite is how [verify] suite ended on a tip of the project's branch.
type Suite struct {
	Commit string `json:"commit"`
	OK     bool   `json:"ok"`
	Words  string `json:"words"` // one line, cleaned
}

// LastSuite is the suite's last end; ok is false where none was seen.
func LastSuite(bare string) (s Suite, ok bool) {
	return s, read(bare, suitePath, &s) && s.Commit != ""
}

// Tell writes down how the suite ended.
func (s Suite) Tell(bare string) error { return write(bare, suitePath, s) }

// read reads a small JSON file of the launcher's.
func read(bare, path string, v any) bool {
	f, err := os.Open(filepath.Join(bare, path))
	if err != nil {
		return false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return err == nil && json.Unmarshal(data, v) == nil
}

func write(bare, path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(bare, path), data, 0o644)
}
