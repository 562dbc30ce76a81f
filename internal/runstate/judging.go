package runstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/live"
)

// judgingDir is where a launcher says which verdicts it is at, a file a unit, and suitePath
// how the suite ended on the project's branch, below the repository.
const (
	judgingDir = "ward/judging"
	suitePath  = "ward/suite.json"
)

// maxJudging bounds how many verdicts are told of.
const maxJudging = 100

// maxFile bounds what is read of a file of a few words, in bytes.
const maxFile = 64 << 10

// stale is how old words about something that runs may be: they come each 2 seconds.
const stale = 15 * time.Second

// Judging is the progress of a running verdict.
type Judging struct {
	Unit  string    `json:"unit"`
	Words string    `json:"words"` // one line, cleaned
	Time  time.Time `json:"time"`  // of these words
}

// JudgingNow returns the running verdicts by unit; none when no launcher runs.
func JudgingNow(bare string) (list []Judging) {
	if _, running := Running(bare); !running {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Join(bare, judgingDir)) // in order of names
	for _, e := range entries[:min(len(entries), maxJudging)] {
		var j Judging
		if !read(bare, filepath.Join(judgingDir, e.Name()), &j) || judgingPath(j.Unit) != filepath.Join(judgingDir, e.Name()) || time.Since(j.Time) > stale {
			continue
		}
		j.Words = diag.Clean(j.Words)
		list = append(list, j)
	}
	return list
}

// judgingPath is a unit's file, "" where that is no name of one.
func judgingPath(unit string) string {
	if (live.Event{Unit: unit}).Directive() == "" {
		return ""
	}
	return filepath.Join(judgingDir, unit+".json")
}

// Tell records a verdict's progress. Its words are stale after seconds, so that nobody waits for the
// disk, which would happen several times a second.
func (j Judging) Tell(bare string) error {
	path := judgingPath(j.Unit)
	if path == "" {
		return fmt.Errorf("%q is no unit", j.Unit)
	}
	if err := os.Mkdir(filepath.Join(bare, judgingDir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return atomicfile.WriteVolatile(filepath.Join(bare, path), data, 0o644)
}

// NotJudging records that no verdict on a unit is running.
func NotJudging(bare, unit string) {
	if path := judgingPath(unit); path != "" {
		os.Remove(filepath.Join(bare, path))
	}
}

// Suite is how [verify] suite ended on a tip of the project's branch.
type Suite struct {
	Commit string `json:"commit"`
	OK     bool   `json:"ok"`
	Words  string `json:"words"` // one line, cleaned
}

// LastSuite is the suite's last result; ok is false if there is none.
func LastSuite(bare string) (s Suite, ok bool) {
	return s, read(bare, suitePath, &s) && s.Commit != ""
}

// Tell records the suite's result.
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
