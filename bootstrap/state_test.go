package bootstrap

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/bootstrap/notices"
	"git-ward/bootstrap/signals"
	"git-ward/bootstrap/statedir"
	"git-ward/bootstrap/trees"
	"git-ward/protocols/comms"
)

// TestState: what is saved is what is loaded, in a form that a watcher of another
// version reads.
func TestState(t *testing.T) {
	d := &statedir.Dir{Path: t.TempDir()}
	if err := d.Prepare(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	f := loadState(d, zerolog.New(&log))
	f.state = state{
		Hop: &hop{Signal: signals.Signal{Kind: signals.Bootstrap, Name: "agent/D-1"}, Commit: "c", Attempts: 1, Started: true},
		Pin: &pin{Ref: "v1", Commit: "c", Main: "m"}, Branch: "main",
		Trees:   trees.Record{Built: map[string]trees.Built{"main": {Code: "c", Status: "s"}}, Valid: []string{"c"}},
		Notices: notices.Record{Told: map[string]string{"cpu": "c"}, Unsent: []notices.Notice{{Status: comms.Guard, Kind: "cpu", ID: "i", Text: "t"}}},
	}
	f.save()
	if got := loadState(d, zerolog.New(&log)); !reflect.DeepEqual(got.state, f.state) {
		t.Errorf("%+v", got.state)
	}
	data, err := os.ReadFile(d.Own(stateName))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"\n  \"hop\": {", "\n    \"kind\": \"bootstrap\"", "\n  \"pin\": {", "\n  \"branch\": \"main\"", "\n  \"built\": {", "\n  \"valid\": [", "\n  \"told\": {", "\n  \"unsent\": ["} {
		if !strings.Contains(string(data), key) {
			t.Errorf("there is no %q in\n%s", key, data)
		}
	}
	if log.Len() > 0 {
		t.Error(log.String())
	}
	for _, bad := range []string{"", "{", `{"branch":"x","later":1}`, strings.Repeat(" ", stateSize+1) + "{}"} {
		if err := os.WriteFile(d.Own(stateName), []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		if got := loadState(d, zerolog.New(&log)); !reflect.DeepEqual(got.state, state{}) || log.Len() == 0 {
			t.Errorf("%.40q: %+v, log %q", bad, got.state, log.String())
		}
	}
}
