package logfile

import (
	"errors"
	"testing"
)

func TestCauses(t *testing.T) {
	causes := Causes{}
	one, other := errors.New("one"), errors.New("other")
	for i, try := range []struct {
		what string
		err  error
		want bool
	}{{"a", nil, false}, {"a", one, true}, {"a", errors.New("one"), false}, {"b", one, true}, {"a", other, true}, {"a", one, true}, {"a", nil, false}, {"a", one, true}, {"b", one, false}} {
		if got := causes.New(try.what, try.err); got != try.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}
