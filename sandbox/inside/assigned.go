package inside

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"git-ward/internal/atomicfile"
)

// Assignment tells a payload what to work on. A container may be made before that is known, so
// the launcher writes it before the start, into a file in a directory that is read-only
// inside.
type Assignment struct {
	Args []string `json:"args"` // appended to the payload's arguments
	Env  []string `json:"env"`  // NAME=value
}

// maxAssignment bounds it, in bytes.
const maxAssignment = 1 << 16

// Write writes it atomically, readable for everybody.
func (a *Assignment) Write(path string) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return atomicfile.WritePrivate(path, append(text, '\n'), 0o644)
}

// readAssignment reads the assignment; without it nothing starts.
func readAssignment(path string) (a Assignment, err error) {
	f, err := os.Open(path)
	if err != nil {
		return a, err
	}
	defer f.Close()
	dec := json.NewDecoder(io.LimitReader(f, maxAssignment))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, fmt.Errorf("what is assigned in %s: %w", path, err)
	}
	return a, nil
}
