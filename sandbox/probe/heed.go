package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"git-ward/internal/diag"
)

// reportSize bounds what a first process says.
const reportSize = 1 << 16

// ErrSilent is of a first process that ended before it said anything.
var ErrSilent = errors.New("the fence's own trial ended before it said anything")

// Heed reads what a container's first process says of its fence, before anything else runs
// there, and gives leave to start where it holds.
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
