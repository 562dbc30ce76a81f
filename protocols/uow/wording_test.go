package uow

import (
	"strings"
	"testing"
)

// Every state, event and reason code has words, or says no more than its event does; none
// has the letter-form in it.
func TestWording(t *testing.T) {
	letters := func(s string) bool { return strings.Contains(s, "_") || s == strings.ToUpper(s) }
	for _, s := range States() {
		if letters(s.Words()) {
			t.Errorf("%s: %q", s, s.Words())
		}
	}
	plain := strings.Fields("DIRECTIVE_OPEN WORK_STARTED ITERATION_STARTED WORK_CLAIMED PULSE_ACKNOWLEDGED APPROVED REJECTED PILOT_HOLD HOLD_LIFTED " +
		"RETRY_POLICY RETRY_NOW CLARIFIED WAIVED WAIVER_DENIED FAILURE_CONFIRMED ANALYSIS_STARTED ANALYSIS_DONE AUDIT_RETENTION")
	used := map[Reason]bool{}
	for event, by := range reasons {
		if _, ok := eventWords[event]; !ok || letters(event.Words()) {
			t.Errorf("%s: %q", event, event.Words())
		}
		for _, codes := range by {
			for _, code := range codes {
				used[code] = true
				if code.Words() == "" && !strings.Contains(" "+strings.Join(plain, " ")+" ", " "+string(code)+" ") || letters(code.Words()) && code.Words() != "" {
					t.Errorf("%s of %s: %q", code, event, code.Words())
				}
			}
		}
	}
	for code := range reasonWords {
		if !used[code] {
			t.Errorf("nobody gives the reason %s", code)
		}
	}
}
