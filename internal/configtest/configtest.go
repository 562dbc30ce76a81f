// Package configtest changes settings of repositories that tests make.
package configtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/config"
)

// Set gives settings of a guarded repository other values, whether its file has them or not.
// A line is `key = value`, or `[section] key = value` where several sections have such a key.
func Set(t testing.TB, bare string, lines ...string) {
	t.Helper()
	path := filepath.Join(bare, config.Path)
	data, err := os.ReadFile(path)
	if err == nil {
		data, err = Settings(data, lines...)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Settings applies lines, in the form that Set takes, to the text of a settings file.
func Settings(data []byte, lines ...string) (_ []byte, err error) {
	for _, line := range lines {
		section := ""
		if of, rest, ok := strings.Cut(line, "] "); ok && strings.HasPrefix(line, "[") {
			section, line = of[1:], rest
		}
		name, value, ok := strings.Cut(line, " = ")
		if !ok {
			return nil, fmt.Errorf("%q is no setting", line)
		}
		if found := sectionsOf(name); section == "" && len(found) == 1 {
			section = found[0]
		} else if section == "" {
			return nil, fmt.Errorf("%s is a setting of %q: `[section] %s` says of which", name, found, line)
		}
		if data, err = config.Set(data, section+"."+name, value); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// sectionsOf are the sections that have a setting of this name.
func sectionsOf(name string) (found []string) {
	section := ""
	for line := range strings.Lines(config.Shipped) {
		if of, ok := strings.CutPrefix(line, "["); ok {
			section, _, _ = strings.Cut(of, "]")
		} else if strings.HasPrefix(line, name+" = ") && !slices.Contains(found, section) {
			found = append(found, section)
		}
	}
	return found
}
