package config

import (
	_ "embed"
	"fmt"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// earlierText lists defaults that Ward had once.
//
//go:embed earlier.toml
var earlierText string

// Stale is a setting whose value in a file is an earlier default of Ward's.
type Stale struct{ Key, Value, Now string } // the values as TOML

func (s Stale) String() string {
	return fmt.Sprintf("%s = %s, now %s", s.Key, brief(s.Value), brief(s.Now))
}

// brief is a value that is shown in a line.
func brief(literal string) string {
	literal = strings.Join(strings.Fields(literal), " ")
	if len(literal) > 40 && strings.HasPrefix(literal, "[") {
		return fmt.Sprintf("[ %d entries ]", strings.Count(literal, `"`)/2)
	}
	return literal
}

// OldDefaults finds settings with the value of an earlier default: nobody chose it.
func OldDefaults(data []byte, name string) ([]Stale, error) {
	c := new(Config)
	meta, err := c.decode(string(data), name)
	if err != nil {
		return nil, err
	}
	var stale []Stale
	settings, now := c.settings(), Default().settings()
	for _, e := range earlier() {
		if !meta.IsDefined(strings.Split(e.key, ".")...) || !reflect.DeepEqual(settings[e.key].Interface(), e.value) ||
			reflect.DeepEqual(e.value, now[e.key].Interface()) {
			continue
		}
		p := find(string(data), e.key)
		value := "?"
		if p.from >= 0 {
			value = string(data[p.from:p.to])
		}
		stale = append(stale, Stale{e.key, value, Literal(e.key)})
	}
	return stale, nil
}

// earlierDefault is a row of earlier.toml, its value as Config has it.
type earlierDefault struct {
	key   string
	value any
}

func earlier() (all []earlierDefault) {
	var table struct {
		Earlier []struct {
			Key   string
			Value toml.Primitive
		}
	}
	meta, err := toml.Decode(earlierText, &table)
	if err != nil {
		panic("earlier.toml cannot be read: " + err.Error())
	}
	for _, row := range table.Earlier {
		c := new(Config)
		v, ok := c.settings()[row.Key]
		if !ok {
			panic("earlier.toml names no setting: " + row.Key)
		}
		if err := meta.PrimitiveDecode(row.Value, v.Addr().Interface()); err != nil {
			panic("earlier.toml: " + row.Key + ": " + err.Error())
		}
		all = append(all, earlierDefault{row.Key, v.Interface()})
	}
	return all
}

// Update brings a settings file to this version: a setting at an earlier default gets today's.
// Values that somebody chose stay. The changes are returned in words.
func Update(data []byte, name string) (updated []byte, changes []string, err error) {
	stale, err := OldDefaults(data, name)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range stale {
		if data, err = Set(data, s.Key, s.Now); err != nil {
			return nil, nil, err
		}
		changes = append(changes, s.String())
	}
	_, err = Parse(data, name)
	return data, changes, err
}
