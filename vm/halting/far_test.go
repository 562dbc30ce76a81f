package halting

import (
	"strings"
	"testing"

	"git-ward/vm/halting/code"
)

// TestFarBounds: two registers whose difference does not fit 64 bits have bounds that
// hold, so the proof that speaks of them is one (found by TestRandomPlans).
func TestFarBounds(t *testing.T) {
	text := strings.ReplaceAll("LABEL l0; LEFT; LEFT; READ R0; INC R1; CMP R0 R2; JNE l0; LEFT; LEFT; LEFT; READ R0; MOV R0 -9223372036854775808; LEFT; WRITE R0", "; ", "\n") + "\n"
	before := rejected
	defer func() { rejected = before }()
	rejected = func(_ code.Program, r *Report, err error) { t.Errorf("%q: %v", r.Reason, err) }
	for steps := int64(5); steps < 20; steps++ {
		if r := Analyze(t.Context(), parse(t, text), Options{Steps: steps}); r.Risk != Low {
			t.Errorf("%d steps: %s: %s", steps, r.Risk, r.Reason)
		}
	}
}
