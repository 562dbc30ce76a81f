package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"git-ward/internal/diag"
)

// reportSize bounds a first process's report.
const reportSize = 1 << 16

// ErrSilent means that a container's first process ended before it reported anything.
var ErrSilent = errors.New("the fence's own trial ended before it said anything")

// Heed reads the report of a container's first process about its fence, before anything else
// runs there, and allows the start if the fence holds.
func Heed(conn io.ReadWriter) error {
	line, err := bufio.NewReader(io.LimitReader(conn, reportSize)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSilent, err)
	}
	var report Report
	if err := json.Unmarshal(line, &report); err != nil {
		return fmt.Errorf("the fence's own trial said nothing that can be read: %w", err)
	}
	if err := report.Err(); err != nil {
		return errors.New(diag.Clean(err.Error()))
	}
	_, err = conn.Write([]byte{2})
	return err
}
