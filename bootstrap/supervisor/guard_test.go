package supervisor

import (
	"testing"
	"time"
)

// TestGuard: processor time counts over a whole window, memory in two samples in a
// row, logs at once.
func TestGuard(t *testing.T) {
	const second = time.Second
	limits := Limits{CPU: 0.5, Window: 10 * second, Memory: 100, Logs: 100}
	type look struct {
		at, cpu      time.Duration
		memory, logs int64
		want         string
	}
	for name, looks := range map[string][]look{
		"nothing":                 {{at: 0}, {at: 5 * second}, {at: 20 * second}},
		"busy from the beginning": {{at: 0}, {at: 9 * second, cpu: 9 * second}, {at: 10 * second, cpu: 10 * second, want: "cpu"}},
		"half a processor":        {{at: 0}, {at: 10 * second, cpu: 5 * second}, {at: 20 * second, cpu: 10 * second}},
		"busy later":              {{at: 0}, {at: 10 * second, cpu: 1 * second}, {at: 20 * second, cpu: 9 * second, want: "cpu"}},
		"a short rush":            {{at: 0}, {at: 5 * second, cpu: 4 * second}, {at: 10 * second, cpu: 4 * second}, {at: 15 * second, cpu: 4 * second}},
		"memory once":             {{memory: 101}, {memory: 100}, {memory: 101}},
		"memory twice":            {{memory: 101}, {memory: 101, want: "memory"}},
		"logs":                    {{logs: 100}, {logs: 101, want: "logs"}},
	} {
		var now look
		g := guard{limits: limits, usage: func() (time.Duration, int64) { return now.cpu, now.memory }, logs: func() int64 { return now.logs }}
		begin := time.Now()
		for i, l := range looks {
			now = l
			got := ""
			if e := g.look(begin.Add(l.at)); e != nil {
				got = e.Kind
			}
			if got != l.want {
				t.Errorf("%s, look %d: %q", name, i, got)
			}
		}
	}
}
