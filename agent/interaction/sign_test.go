package interaction

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"git-ward/protocols/uow"
)

// What a killed run had used counts once: not where the journal says it already, nor for
// another iteration.
func TestSign(t *testing.T) {
	record := func(hash string, actor uow.Actor, iteration int64) *uow.Record {
		return &uow.Record{ID: "D-1.1", Hash: hash, Actor: actor, Iteration: iteration}
	}
	begun := record("a", uow.Agent, 2)
	sign := Sign{Unit: "D-1.1", Iteration: 2, Record: "a", Calls: 7, Seconds: 60}
	for name, c := range map[string]struct {
		journal        []*uow.Record
		calls, seconds int
	}{
		"killed":             {[]*uow.Record{begun}, 7, 60},
		"paused and resumed": {[]*uow.Record{begun, record("b", uow.PM, 2), record("c", uow.PM, 2)}, 7, 0},
		"said already":       {[]*uow.Record{begun, record("b", uow.Agent, 2)}, 0, 0},
		"the next iteration": {[]*uow.Record{begun, record("b", uow.Agent, 3)}, 0, 0},
		"another journal":    {[]*uow.Record{record("x", uow.Agent, 2)}, 0, 0},
		"no journal":         {nil, 0, 0},
	} {
		dir := t.TempDir()
		sign.Write(dir)
		if got := Lost(dir, c.journal); got.Calls != c.calls || got.Seconds != c.seconds {
			t.Errorf("%s: %+v", name, got)
		}
	}
	dir := t.TempDir()
	if got := Lost(dir, []*uow.Record{begun}); got != (Sign{}) {
		t.Errorf("no sign: %+v", got)
	}
	for _, text := range []string{"{", `{"unit":"D-1.1","iteration":2,"record":"a","calls":-1}`, "[]"} {
		if err := os.WriteFile(filepath.Join(dir, signFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Lost(dir, []*uow.Record{begun}); got != (Sign{}) {
			t.Errorf("%s: %+v", text, got)
		}
	}
	now := time.Now()
	if got := sign.Since(now.Add(-3*time.Second), now, 2); got.Calls != 9 || got.Seconds != 63 {
		t.Errorf("%+v", got)
	}
}
