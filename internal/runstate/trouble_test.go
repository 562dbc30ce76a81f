package runstate

import (
	"strings"
	"testing"
	"time"
)

// TestTroubleText: what passes by itself is told from what an admin has to mend.
func TestTroubleText(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	key := Trouble{Since: at, Last: at, Calls: 1, Code: "401"}.Text("D-1")
	outage := Trouble{Since: at, Last: at, Calls: 3, Code: "503"}.Text("D-2")
	if !strings.Contains(key, "refuses the key for D-1") || !strings.Contains(key, "[model]") || strings.Contains(key, "by itself") {
		t.Error(key)
	}
	if !strings.Contains(outage, "the model of D-2 does not answer since 2026-11-22T09:00:00Z (3 calls failed") || !strings.Contains(outage, "it is asked again by itself") {
		t.Error(outage)
	}
}
