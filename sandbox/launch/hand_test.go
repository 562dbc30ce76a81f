package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/sandbox/host"
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
		if !errors.As(err, new(*host.Ended)) || !strings.HasPrefix(err.Error(), "ssh farm has said nothing for 45s") {
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

// TestMachineEnds: a machine that goes, or that loses its gate, ends its work by nothing that the work
// has done. What it says of the work's own end is that.
func TestMachineEnds(t *testing.T) {
	for what, c := range map[string]struct {
		err   error // how it ended there; nil where the machine goes without a word
		ended bool
	}{
		"gone":           {nil, true},
		"lost its gate":  {&host.Ended{Why: errors.New("the gate takes the key no more")}, true},
		"its work's end": {errors.New("exit 137"), false},
	} {
		gate, there := net.Pipe()
		h := &remoteWorker{name: "ssh farm", conn: gate, said: make(chan said), alive: make(chan struct{}, 1), gone: make(chan struct{})}
		go h.read(t.Context(), bufio.NewReader(gate))
		go func() {
			if c.err != nil {
				(&answers{to: json.NewEncoder(there)}).say(ending(c.err))
			}
			there.Close()
		}()
		if err := h.hear(t.Context(), &worker{}); err == nil || errors.As(err, new(*host.Ended)) != c.ended || c.err != nil && err.Error() != c.err.Error() {
			t.Errorf("%s: %v", what, err)
		}
	}
}
