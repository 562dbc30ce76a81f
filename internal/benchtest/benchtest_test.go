package benchtest

import (
	"os/exec"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	const ms = time.Millisecond
	for got, want := range map[string]string{
		MS(1234567 * time.Nanosecond): "1.2 ms",
		MS(0):                         "0.0 ms",
		Ratio(3*ms, 2*ms):             "1.50",
		Ratio(ms, 100*ms):             "0.0100",
		MS(Median([]time.Duration{9 * ms, ms, 5 * ms})): "5.0 ms",
		MS(Median([]time.Duration{4 * ms, ms})):         "4.0 ms",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	all := []time.Duration{3, 1, 2}
	if Median(all); all[0] != 3 {
		t.Error("Median sorts its caller's list")
	}
}

// What a process used counts once it is waited for.
func TestTimed(t *testing.T) {
	took, used := Timed(func() {
		if err := exec.Command("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done").Run(); err != nil {
			t.Fatal(err)
		}
	})
	if took <= 0 || used <= 0 {
		t.Errorf("%v, and %v of a processor", took, used)
	}
	if _, used := Timed(func() {}); used != 0 {
		t.Errorf("no process used %v", used)
	}
}

// A measurement runs when it was asked for, and only then.
func TestOnly(t *testing.T) {
	for _, asked := range []string{"", "1"} {
		t.Setenv("WARD_BENCH", asked)
		ran := false
		t.Run("measurement", func(t *testing.T) {
			Only(t)
			ran = true
		})
		if ran != (asked != "") {
			t.Errorf("WARD_BENCH=%q: ran is %v", asked, ran)
		}
	}
}
