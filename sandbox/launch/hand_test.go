package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sleeper is a machine's connection; the machine sleeps after so many lines.
type sleeper struct {
	net.Conn
	lines int
	sleep func()
}

func (s *sleeper) Write(line []byte) (int, error) {
	if s.lines--; s.lines == 0 {
		s.sleep()
	}
	return s.Conn.Write(line)
}

// TestMachineAsleep: a machine that only beats keeps its directive. One that sleeps loses it after
// handAway, and what it says when it wakes reaches nobody.
func TestMachineAsleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const beats = 60
		gate, there := net.Pipe()
		awake, sleep := context.WithCancel(t.Context())
		machine := &answers{to: json.NewEncoder(&sleeper{there, beats, sleep})}
		h := &remoteWorker{name: "ssh farm", conn: gate, said: make(chan said), alive: make(chan struct{}, 1), gone: make(chan struct{})}
		began := time.Now()
		go h.read(t.Context(), bufio.NewReader(gate))
		go machine.beat(awake)
		err := h.hear(t.Context(), &worker{})
		if err == nil || !strings.HasPrefix(err.Error(), "ssh farm has said nothing for 45s") {
			t.Error(err)
		}
		if took, want := time.Since(began), (beats-1)*handBeat+handAway; took != want {
			t.Errorf("it lost its directive after %v, want %v", took, want)
		}
		if machine.say(said{Ended: true}) == nil {
			t.Error("the late machine is still heard")
		}
	})
}
