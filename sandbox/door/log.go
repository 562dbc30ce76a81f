package door

import (
	"path/filepath"

	"git-ward/internal/logfile"
)

// maxLog is the size in bytes at which the door's log is rotated.
const maxLog = 16 << 20

// OpenLog opens a repository's log of pushes through a door, ward/door.log. A launcher's other
// services write there, too.
func OpenLog(bare string) (*logfile.File, error) {
	return logfile.Open(filepath.Join(bare, "ward/door.log"), maxLog, 0o600)
}
