package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/atomicfile"
	"git-ward/sandbox/gateway"
)

// backpressurePath has what providers fail of the present launch's calls, by directive
// (WORK-4). It is for people who look; nothing is decided by it.
const backpressurePath = "ward/backpressure.json"

// tellTroubles writes down what providers fail; nothing takes the file away.
func (l *launch) tellTroubles(troubles map[string]gateway.Trouble) {
	path := filepath.Join(l.spec.Bare, backpressurePath)
	var err error
	if len(troubles) == 0 {
		err = os.Remove(path)
	} else if data, bad := json.Marshal(troubles, json.Deterministic(true)); bad == nil {
		err = atomicfile.Write(path, append(data, '\n'), 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.log.Warn().Err(err).Msg("the backpressure is not written down")
	}
}

// Troubles is what providers fail of the calls of the launch that runs, by directive.
func Troubles(bare string) (map[string]gateway.Trouble, error) {
	if _, running := Running(bare); !running {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(bare, backpressurePath))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var troubles map[string]gateway.Trouble
	if err == nil {
		err = json.Unmarshal(data, &troubles)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", backpressurePath, err)
	}
	return troubles, nil
}

// TroublesText words them for a person, a line each.
func TroublesText(troubles map[string]gateway.Trouble) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(troubles)) {
		t := troubles[name]
		if t.Denied() {
			fmt.Fprintf(&b, "the model's provider refuses the key for %s since %s (%d calls, %s): mend the key file in [model] of config.toml, and launch again\n",
				name, t.Since.Format("2006-01-02T15:04:05Z"), t.Calls, t.Code)
			continue
		}
		fmt.Fprintf(&b, "backpressure: the model of %s does not answer since %s (%d calls failed, the last at %s: %s); it is asked again by itself\n",
			name, t.Since.Format("2006-01-02T15:04:05Z"), t.Calls, t.Last.Format("15:04:05Z"), t.Code)
	}
	return b.String()
}
