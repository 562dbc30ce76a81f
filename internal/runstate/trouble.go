package runstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/atomicfile"
)

// backpressurePath is the file with the providers' failures in the present launch, by
// directive (WORK-4).
const backpressurePath = "ward/backpressure.json"

// Trouble is a provider's failure for one directive's calls.
type Trouble struct {
	Since time.Time `json:"since"` // the first of the calls that failed one after the other
	Last  time.Time `json:"last"`
	Calls int       `json:"calls"` // how many
	// Code says what happened: the provider's status, such as "503", or "unreachable",
	// "timeout", "cut", "silent", or "error" for one inside an answer that began well.
	Code string `json:"code"`
}

// Denied reports whether the provider refuses the host's key. Waiting does not mend that.
func (t Trouble) Denied() bool { return t.Code == "401" || t.Code == "403" }

// TellTroubles records the failing providers. The file stays after the launch.
func TellTroubles(bare string, troubles map[string]Trouble) error {
	path := filepath.Join(bare, backpressurePath)
	if len(troubles) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(troubles)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'), 0o644)
}

// Troubles returns the failing providers of the running launch, by directive.
func Troubles(bare string) (map[string]Trouble, error) {
	if _, running := Running(bare); !running {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(bare, backpressurePath))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var troubles map[string]Trouble
	if err == nil {
		err = json.Unmarshal(data, &troubles)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", backpressurePath, err)
	}
	return troubles, nil
}

// Text words the trouble of a directive's calls in one line, with what can be done.
func (t Trouble) Text(directive string) string {
	if t.Denied() {
		return fmt.Sprintf("the model's provider refuses the key for %s since %s (%d calls, %s): mend the key file in [model] of config.toml, and launch again",
			directive, t.Since.Format("2006-01-02T15:04:05Z"), t.Calls, t.Code)
	}
	return fmt.Sprintf("backpressure: the model of %s does not answer since %s (%d calls failed, the last at %s: %s); it is asked again by itself",
		directive, t.Since.Format("2006-01-02T15:04:05Z"), t.Calls, t.Last.Format("15:04:05Z"), t.Code)
}

// unfoldedPath is the file with the reasons why messages of the present launch's workers are
// not in COMMS.md (COMMS-5).
const unfoldedPath = "ward/unfolded"

// TellUnfolded writes these reasons to the file; "" removes it.
func TellUnfolded(bare, why string) error {
	path := filepath.Join(bare, unfoldedPath)
	if why == "" {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return atomicfile.Write(path, []byte(why+"\n"), 0o644)
}

// unfolded is a line for each waiting message, while that launch runs.
func unfolded(bare string) string {
	if _, running := Running(bare); !running {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(bare, unfoldedPath))
	if err != nil {
		return "" // nothing waits
	}
	return "not in COMMS.md yet, and tried again: " + strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "; ")
}
