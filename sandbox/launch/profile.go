package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/protocols/lease"
)

// What a profile keeps at most: directives, and spans of one.
const (
	maxDrawn = 100
	maxSpans = 500
)

// profile is what a launch writes into its owner's directory at its end: where the launcher spent
// its processor time and has its memory, and a picture of each directive's way. The way is the
// launch's own log, whose lines say what ended, of which directive, and how long it took.
type profile struct {
	dir string
	cpu bytes.Buffer

	mu    sync.Mutex
	spans map[string][]span // of directives
}

// A span is something that took its time; from and to are the same for what only happened.
type span struct {
	words    string
	from, to time.Time
}

// profiled is a log whose lines a profile reads, where a launch has one; end writes that down.
func profiled(log io.Writer, dir string) (_ io.Writer, end func() error, err error) {
	if dir == "" {
		return log, func() error { return nil }, nil
	}
	p := &profile{dir: dir, spans: map[string][]span{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	return io.MultiWriter(log, p), p.end, pprof.StartCPUProfile(&p.cpu)
}

// end writes what there is.
func (p *profile) end() error {
	pprof.StopCPUProfile()
	var heap bytes.Buffer
	all := pprof.WriteHeapProfile(&heap)
	files := map[string][]byte{"launcher.cpu.pprof": p.cpu.Bytes(), "launcher.heap.pprof": heap.Bytes()}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, spans := range p.spans {
		files[name+".svg"] = draw(name, spans)
	}
	for name, data := range files {
		all = errors.Join(all, atomicfile.Write(filepath.Join(p.dir, name), data, 0o600))
	}
	if all != nil {
		return fmt.Errorf("the profile: %w", all)
	}
	return nil
}

// logLine is what is known of a line of the log.
type logLine struct {
	Message, Verb, Command, Directive, Unit, Name string
	Run                                           int
	MS                                            *float64 `json:"ms"`
	Took                                          *float64 `json:"took_ms"`
}

// Write takes a line of the log. Lines of no directive are not drawn.
func (p *profile) Write(line []byte) (int, error) {
	now := time.Now()
	var l logLine
	if json.Unmarshal(line, &l) != nil {
		return len(line), nil
	}
	directive := ""
	for _, of := range []string{l.Directive, l.Unit, l.Name} { // D-1, D-1.1, and a lease's D-1.4a5b
		if of, _, _ = strings.Cut(of, "."); lease.IsDirective(of) {
			directive = of
			break
		}
	}
	if directive == "" || l.Command != "" && l.MS == nil { // it begins, and another line has its end
		return len(line), nil
	}
	s := span{words: l.Message, from: now, to: now}
	for _, ms := range []*float64{l.MS, l.Took} {
		if ms != nil && *ms > 0 {
			s.from = now.Add(-time.Duration(*ms * float64(time.Millisecond)))
		}
	}
	if l.Command != "" {
		s.words = fmt.Sprintf("%s, run %d", l.Command, l.Run)
	}
	if l.Verb != "" {
		s.words += " (git " + l.Verb + ")"
	}
	s.words = diag.Clean(s.words)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spans[directive] == nil && len(p.spans) == maxDrawn {
		return len(line), nil
	}
	if len(p.spans[directive]) < maxSpans {
		p.spans[directive] = append(p.spans[directive], s)
	}
	return len(line), nil
}
