package local

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
)

// places count the containers that verdicts have at a time: one each, and a second one where there
// is room for it.
type places struct {
	mu    sync.Mutex
	taken int
}

// take takes a place.
func (p *places) take() (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
	}
}

// company gives a verdict a second container at a time. All of a launch's verdicts have no more than
// it may judge at once, or two: what a launch was given the machine for is what it takes of it.
//
// And the machine has to have the memory for two at their limits. A container that is at its limit
// ends a command; a machine without memory ends any, and a control would take that for a test that
// failed as it should. What the first one has taken by now says nothing of what it will take, so
// both count in full, against what the kernel could give without swapping.
func (v *Verifier) company() (leave func(), ok bool) {
	if available, err := memAvailable("/proc/meminfo"); err != nil || available < 2*v.Settings.Sandbox.Memory {
		return nil, false
	}
	leave = v.places.take()
	v.places.mu.Lock()
	over := v.places.taken > max(2, v.AtOnce)
	v.places.mu.Unlock()
	if over {
		leave()
		return nil, false
	}
	return leave, true
}

// memAvailable is what a file of the form of /proc/meminfo says could be taken, in bytes.
func memAvailable(file string) (int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if after, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			var kib int64
			_, err := fmt.Sscanf(after, "%d kB", &kib)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s does not say what could be taken: %w", file, lines.Err())
}
