package runstate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestCosts: the meter's figures are told by directive, what runs now beside what was used.
func TestCosts(t *testing.T) {
	bare := t.TempDir()
	if costs, err := Costs(bare); len(costs) > 0 || err != nil {
		t.Errorf("nothing was counted: %v, %v", costs, err)
	}
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		if err := os.WriteFile(filepath.Join(bare, MeterPath), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"version":1,"directives":{"D-1":{"used":{"calls":3,"usage":{"input":100,"output":20,"cache_read":7,"cache_write":2,"cache_write_long":1},"cost":"0.50"},
		"estimated":1,"ms":4500,"held":{"calls":1,"usage":{"input":9,"output":4},"cost":"0.01"}}},
		"refused":{"D-1":[{"address":"pkg.example.com","setting":"[egress] allow"},{"address":"10.0.0.1"}]}}`)
	costs, err := Costs(bare)
	want := Cost{Calls: 3, Tokens: 130, Input: 110, Output: 20, Money: "0.50", Estimated: 1, Millis: 4500, HeldCalls: 1, HeldTokens: 13, HeldMoney: "0.01"}
	if err != nil || len(costs) != 1 || costs["D-1"] != want {
		t.Errorf("%+v, %v", costs, err)
	}
	if m, err := ReadMeter(bare); err != nil || !slices.Equal(m.Refused["D-1"], []Refused{{"pkg.example.com", "[egress] allow"}, {"10.0.0.1", ""}}) {
		t.Errorf("%+v, %v", m.Refused, err)
	}
	if m, err := ReadMeter(bare); err != nil || len(m.Refused["D-2"]) > 0 {
		t.Errorf("another's: %+v, %v", m.Refused, err)
	}
	put(`{"version":1,"direc`)
	if costs, err := Costs(bare); costs != nil || err == nil {
		t.Errorf("half a file: %v, %v", costs, err)
	}
}
