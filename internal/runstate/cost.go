package runstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MeterPath is the gateway's file of what directives have used, relative to the repository.
const MeterPath = "ward/meter.json"

// maxMeter bounds the meter's file, in bytes.
const maxMeter = 64 << 20

// Cost is what a directive has used of its budget in all its launches, as the host's
// gateway counted it (SBX-7).
type Cost struct {
	Calls     int64  `json:"calls"`
	Tokens    int64  `json:"tokens"`    // of all kinds
	Input     int64  `json:"input"`     // of them, what the cache gave and took included
	Output    int64  `json:"output"`    // of them
	Money     string `json:"money"`     // decimal text of dollars
	Estimated int64  `json:"estimated"` // calls among Calls whose usage nobody told
	Millis    int64  `json:"ms"`        // of model time, summed over calls

	HeldCalls  int64  `json:"held_calls"`  // calls that run now
	HeldTokens int64  `json:"held_tokens"` // the most that they may use
	HeldMoney  string `json:"held_money"`  // the most that they may cost
}

// Refused is an address that the fence refused to a directive.
type Refused struct {
	Address string `json:"address"`
	Setting string `json:"setting,omitempty"` // that would allow it; "" where none would
}

// Meter is the meter's file.
type Meter struct {
	Directives map[string]struct {
		Used, Held charge
		Estimated  int64
		Millis     int64 `json:"ms"`
	} `json:"directives"`
	Refused map[string][]Refused `json:"refused"`
}

// ReadMeter reads it. It is empty if nothing was ever counted, or the caller may not read the file.
func ReadMeter(bare string) (m Meter, err error) {
	f, err := os.Open(filepath.Join(bare, MeterPath))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxMeter)).Decode(&m); err != nil {
		return m, fmt.Errorf("%s: %w", MeterPath, err)
	}
	return m, nil
}

// Costs returns what each directive has used, by name. A missing directive has no counted use.
func Costs(bare string) (map[string]Cost, error) {
	m, err := ReadMeter(bare)
	if err != nil {
		return nil, err
	}
	return m.Costs(), nil
}

// Costs is Costs of a meter that was read.
func (m Meter) Costs() map[string]Cost {
	costs := map[string]Cost{}
	for name, a := range m.Directives {
		costs[name] = Cost{
			Calls: a.Used.Calls, Tokens: a.Used.tokens(), Input: a.Used.tokens() - a.Used.Usage.Output, Output: a.Used.Usage.Output,
			Money: a.Used.Cost, Estimated: a.Estimated, Millis: a.Millis,
			HeldCalls: a.Held.Calls, HeldTokens: a.Held.tokens(), HeldMoney: a.Held.Cost,
		}
	}
	return costs
}

// charge is calls and what they use, as the meter's file has it.
type charge struct {
	Calls int64
	Usage struct {
		Input, Output  int64
		CacheRead      int64 `json:"cache_read"`
		CacheWrite     int64 `json:"cache_write"`
		CacheWriteLong int64 `json:"cache_write_long"`
	}
	Cost string
}

func (c charge) tokens() int64 {
	u := c.Usage
	return u.Input + u.Output + u.CacheRead + u.CacheWrite + u.CacheWriteLong
}
