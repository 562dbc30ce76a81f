package gateway

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"git-ward/internal/runstate"
)

// TestRefused: what a directive did not get is kept once each, with the setting that would allow
// it, bounded and over a restart, and a proxy that is off keeps nothing.
func TestRefused(t *testing.T) {
	bare := t.TempDir()
	path := filepath.Join(bare, runstate.MeterPath)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	m, err := OpenMeter(path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(on bool, targets ...string) {
		t.Helper()
		f, _ := walled(t, &zone{names: testZone}, "127.0.0.1:1", func(c *Config) { c.Meter, c.Allowlist = m, on })
		for _, target := range targets {
			conn, err := f.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", target); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(conn); err != nil {
				t.Fatal(err)
			}
			conn.Close()
		}
		f.stop()
	}
	ask(false, "off.example.com:443")
	ask(true, "other.example.com:443", "inside.example.com:443", "other.example.com:443", "169.254.169.254:80", "silent.example.com:443") // the last is only not there
	want := []runstate.Refused{{Address: "other.example.com", Setting: "[egress] allow"}, {Address: "inside.example.com"}, {Address: "169.254.169.254"}}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if m, err := runstate.ReadMeter(bare); err != nil || !slices.Equal(m.Refused["D-1"], want) {
			t.Fatalf("%+v %v", m.Refused, err)
		}
		if costs, err := runstate.Costs(bare); err != nil || len(costs) > 0 {
			t.Fatalf("what is refused costs nothing: %+v %v", costs, err)
		}
		if m, err = OpenMeter(path); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 * maxRefused {
		m.refused("D-1", &denial{what: fmt.Sprint("h", i)})
	}
	if got := m.state.Refused["D-1"]; len(got) != maxRefused {
		t.Errorf("%d", len(got))
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}
