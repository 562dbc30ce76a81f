package verifier

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/sandbox/verifier/deciding"
)

// TestBeyondTheBounds: what main's scripts run beyond the bounds of the reading is
// taken for whatever it might be, and does not pass in silence (LOOP-10).
func TestBeyondTheBounds(t *testing.T) {
	tier.First(t, "it runs many commands, or waits for their limits")
	const loads = "[ ! -e extra.sh ] || . ./extra.sh\nexit 1\n"
	long := files{"check.sh": strings.Repeat("# a line that says nothing\n", deciding.MaxText/26+1) + loads}
	deep := files{"check.sh": "sh s0.sh\n", fmt.Sprintf("s%d.sh", deciding.MaxLevel+1): loads}
	for i := range deciding.MaxLevel + 1 {
		deep[fmt.Sprintf("s%d.sh", i)] = fmt.Sprintf("sh s%d.sh\n", i+1)
	}
	many := files{"check.sh": "", "z.sh": loads}
	var b strings.Builder
	for i := range deciding.MaxTexts + 1 {
		many[fmt.Sprintf("n/%d.sh", i)] = ":\n"
		fmt.Fprintf(&b, ". n/%d.sh\n", i)
	}
	many["check.sh"] = b.String() + "sh z.sh\n"
	for name, main := range map[string]files{"a long text": long, "a deep chain": deep, "many texts": many} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := try(t, main, files{"extra.sh": "exit 0\n"}, nil, "sh check.sh")
			if list(f) != "extra.sh (added)" || ok(f.Replays[0]) || !ok(f.With) {
				t.Errorf("additions %q\n%s\n%s", list(f), ends(f.Replays[0]), ends(f.With))
			}
		})
	}
	t.Run("a large program is no text", func(t *testing.T) {
		t.Parallel()
		main := files{"+tool": strings.Repeat("\x00", deciding.MaxText+1), "check.sh": "[ -x ./tool ] || ./tool\ntrue\n"}
		if f := try(t, main, files{"new.sh": "exit 0\n"}, nil, "sh check.sh"); list(f) != "" || !ok(f.Replays[0]) {
			t.Errorf("additions %q\n%s", list(f), ends(f.Replays[0]))
		}
	})
}
