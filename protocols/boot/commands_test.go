package boot

import (
	"errors"
	"slices"
	"testing"
)

// TestOrWard: Ward's own commands stand in where the settings have none of the three, and
// nowhere else.
func TestOrWard(t *testing.T) {
	own := errors.New("it cannot be read")
	for _, c := range []struct {
		set  Commands
		is   bool
		err  error
		want string // what runs
	}{
		{Commands{}, true, nil, "bin/ward-agent"},
		{Commands{}, false, nil, ""},
		{Commands{}, false, own, ""},
		{Commands{Build: []string{"make"}}, true, nil, ""},
		{Commands{Run: []string{"agent"}}, true, own, "agent"},
	} {
		got, err := c.set.OrWard(func() (bool, error) { return c.is, c.err })
		if asked := len(c.set.Build)+len(c.set.Run) == 0; (err != nil) != (asked && c.err != nil) {
			t.Errorf("%v: %v", c, err)
		}
		if c.want == "" && len(got.Run) > 0 || c.want != "" && !slices.Equal(got.Run, []string{c.want}) {
			t.Errorf("%v: %v", c, got)
		}
	}
}
