package runstate

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// NotifiedPath is the launcher's file of notifications already sent to the [notify] command,
// relative to the repository. Only the owner may read it.
const NotifiedPath = "ward/notified.json"

// MaxNotified bounds that file, in bytes.
const MaxNotified = 8 << 20

// NotifyFailing is how long a [notify] command has failed.
type NotifyFailing struct {
	Since time.Time `json:"since"`
	Next  time.Time `json:"next"` // when it is tried again
	Times int       `json:"times"`
	Why   string    `json:"why"` // one line, cleaned
}

// notifyFails says that notifications do not arrive, "" if they do or the caller may not know.
func notifyFails(bare string) string {
	f, err := os.Open(filepath.Join(bare, NotifiedPath))
	if err != nil {
		return ""
	}
	defer f.Close()
	var told struct {
		Failing *NotifyFailing `json:"failing"`
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxNotified))
	if err != nil || json.Unmarshal(data, &told) != nil || told.Failing == nil {
		return ""
	}
	return fmt.Sprintf("the [notify] command has failed since %s, %d times, and is tried again: %s",
		told.Failing.Since.UTC().Format("2006-01-02T15:04:05Z"), told.Failing.Times, told.Failing.Why)
}
