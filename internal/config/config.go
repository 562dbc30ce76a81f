// Package config reads Ward's settings.
//
// Every setting is declared once: its name, its type and who is shown it (Shown) in Config,
// its default and its reason in config.toml, its bounds in the table of bounds.go; defaults.go
// is config.toml again, written by a test, for programs that begin. The copy in the bare
// repository, <bare>/ward/config.toml, is the only one that counts (CONF-1).
package config

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/diag"

	"github.com/BurntSushi/toml"
)

// Shipped is config.toml as Ward ships it: every setting with its default. Initial is the
// part of it that `git ward init` writes into the bare repository.
//
//go:embed config.toml
var Shipped string

// Path is the settings file of a bare repository, relative to its directory.
const Path = "ward/config.toml"

// Var is the variable that names the file of the host's settings to who works in the fence,
// where no repository with settings is at hand.
const Var = "WARD_CONFIG"

// Given are the settings of the file that --config names, else of the one that the fence names
// to whoever works in it, else Ward's own. path makes a name of the command line's absolute.
func Given(file string, getenv, path func(string) string) (*Config, error) {
	if file == "" && getenv != nil {
		file = getenv(Var)
	}
	if file == "" {
		return Default(), nil
	}
	data, err := ReadFile(path(file))
	if err != nil {
		return nil, err
	}
	return Parse(data, file)
}

// maxSize bounds the file, in bytes; the one Ward ships has a few thousand.
const maxSize = 1 << 20

// Parse reads settings; those left out have their default. The name appears in messages. Of
// several faults, the error names the first in the text.
func Parse(data []byte, name string) (*Config, error) {
	c := new(Config)
	meta, err := c.decode(string(data), name)
	if err != nil {
		return nil, err
	}
	if err := c.check(meta); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.fill(meta)
	return c, nil
}

// fill sets the defaults of missing settings.
func (c *Config) fill(meta toml.MetaData) {
	settings, has := c.settings(), defined(meta)
	for key, v := range Default().all() {
		if !has[key] {
			settings[key].Set(v)
		}
	}
}

// defined are the keys that a file says, in small letters: the case of its letters does not
// matter where they are decoded.
func defined(meta toml.MetaData) map[string]bool {
	has := map[string]bool{}
	for _, key := range meta.Keys() {
		has[strings.ToLower(key.String())] = true
	}
	return has
}

// shippedSections is what Shipped says in some of its sections, headers included, without its
// comments, which are most of it.
func shippedSections(names map[string]bool) string {
	var b strings.Builder
	in := false
	for line := range strings.Lines(Shipped) {
		if strings.HasPrefix(line, "[") {
			in = names[strings.Trim(line, "[]\n")]
		}
		if in && !strings.HasPrefix(strings.TrimLeft(line, " "), "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// decode reads TOML over what the settings hold. Unknown keys are errors.
func (c *Config) decode(text, name string) (toml.MetaData, error) {
	meta, err := toml.Decode(text, c)
	if syntax, ok := errors.AsType[toml.ParseError](err); ok {
		err = fmt.Errorf("%s:%d:%d: %s", name, syntax.Position.Line, syntax.Position.Col, syntax.Message)
		return meta, twice(err, text, syntax.Position.Line)
	}
	if err != nil {
		return meta, fmt.Errorf("%s: %w", name, cmp.Or(c.wrongKind(text), err))
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		// An unknown setting is always an error: a newer Ward's may be one that forbids
		// something.
		return meta, diag.Hint(fmt.Errorf("%s: unknown key %q: `git ward config` lists every setting", name, unknown[0].String()),
			"where a newer Ward wrote it, its `git ward init --update --bare DIR` brings the hooks to it")
	}
	return meta, nil
}

// twice gives a fault the remedy where its line begins a section, or sets a key, that the
// file has before: whoever pastes a section of the documents at the end meets it, since the
// file that init writes has every section.
func twice(err error, text string, line int) error {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) || strings.TrimSpace(lines[line-1]) == "" {
		return err
	}
	section, earlier := "", map[string]int{}
	for i, l := range lines[:line] {
		word, _, _ := strings.Cut(strings.TrimSpace(l), "=")
		if strings.HasPrefix(word, "[") {
			section, _, _ = strings.Cut(word, "#")
			word = ""
		}
		key := strings.TrimSpace(section) + strings.TrimSpace(word)
		if first := earlier[key]; i == line-1 && first > 0 {
			return diag.Hint(err, "line %d has it already: change what stands there, and take line %d out", first, line)
		}
		if _, ok := earlier[key]; !ok {
			earlier[key] = i + 1
		}
	}
	return err
}

// Load reads the settings of the bare repository at dir. A repository without
// the file is not one of Ward's, and an error.
func Load(dir string) (*Config, error) {
	path := filepath.Join(dir, Path)
	data, err := ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: run `git ward init --bare %s` to mend it", path, diag.Word(dir))
	}
	if errors.Is(err, os.ErrPermission) {
		return nil, diag.Hint(fmt.Errorf("you may not read the settings of %s: %w", dir, err), "ask as the repository's owner")
	}
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// ReadFile reads a settings file of bounded size.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSize {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxSize)
	}
	return os.ReadFile(path)
}

// Foreign reports whether a ref is one that a forge moves by itself ([audit]
// foreign): the audit does not know its moves.
func (c *Config) Foreign(ref string) bool {
	return slices.ContainsFunc(c.Audit.Foreign, func(prefix string) bool { return strings.HasPrefix(ref, prefix) })
}
