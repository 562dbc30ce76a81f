package local

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
)

// places counts the containers of running verdicts: one each, and a second where there is room.
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

// company gives a verdict a second concurrent container. All verdicts of a launch together have at most
// as many containers as the launch may judge at once, or two.
//
// The machine must also have memory for two containers at their limits. A container at its limit ends
// its own command; a machine without memory ends any, and a control would mistake that for a test that
// failed as it should. What the first container uses now does not say what it will use, so both count in
// full, against what the kernel can give without swapping.
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

// memAvailable returns the available memory, in bytes, from a file in the format of /proc/meminfo.
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
