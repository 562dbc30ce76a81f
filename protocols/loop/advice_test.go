package loop

import (
	"strings"
	"testing"
)

// TestAdvice: each cause has advice, in commands of Ward's, with nothing left to fill in.
func TestAdvice(t *testing.T) {
	for c, list := range advise {
		for _, ended := range []bool{false, true} {
			got := c.Advice("D-7.2", "`make`", ended)
			if len(got) != len(list) || len(got) == 0 {
				t.Errorf("%s: %v", c, got)
			}
			for _, a := range got {
				if !strings.HasPrefix(a.Type, "git ward ") || strings.ContainsAny(a.String(), "{}") || !strings.Contains(a.Type, "D-7") {
					t.Errorf("%s: %s", c, a)
				}
			}
		}
	}
}
