package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/internal/logfile"
	"git-ward/internal/runstate"
)

const (
	// livesQueue is how many lines of one agent may wait to be written; more are dropped, so
	// that nobody waits for a disk.
	livesQueue = 1024
	// livesBurst and livesPerMinute limit what is written about one directive, in bytes.
	livesBurst, livesPerMinute = 1 << 20, 512 << 10
	// livesEvery is the polling interval for usage figures and signs of life.
	livesEvery = 500 * time.Millisecond
)

// eventLog writes the work's events by directive, for people who watch (SEE-1). An agent's events
// are cut, cleaned, redacted by the gate's rules, and accepted only for the directive that the
// host knows it works on.
type eventLog struct {
	bare   string
	inside string                     // a second copy for the agent that continues another's work, beside the settings' copy
	redact func() func(string) string // returns an ear's own filter; nil removes nothing

	own   chan live.Event // the host's
	ended chan struct{}

	mu    sync.Mutex // everything below, the ears' state included
	ears  []*receiver
	files map[string]*liveFile
	signs map[string]runstate.Sign
	costs map[string]runstate.Cost
	meter time.Time // as the meter's file was read last
	told  bool      // signs of life have been written
}

// newLives starts to write. Close it.
func (l *launch) newLives() *eventLog {
	v := &eventLog{
		bare: l.spec.Bare, inside: filepath.Dir(configCopy(l.spec.State)), redact: l.spec.Redact,
		own: make(chan live.Event, livesQueue), ended: make(chan struct{}),
		files: map[string]*liveFile{}, signs: map[string]runstate.Sign{},
	}
	runstate.ForgetSigns(v.bare)
	v.costs, _ = runstate.Costs(v.bare)
	if err := v.tidy(); err != nil {
		l.log.Warn().Err(err).Msg("what is told of the work is not kept")
	}
	return v
}

// tidy makes the directory, and removes the oldest files of too many.
func (v *eventLog) tidy() error {
	return errors.Join(tidy(filepath.Join(v.bare, runstate.LiveDir)), tidy(filepath.Join(v.inside, runstate.LiveDir)))
}

func tidy(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !strings.HasSuffix(strings.TrimSuffix(e.Name(), ".1"), ".jsonl") }) // somebody's
	if err != nil || len(entries) <= 2*runstate.MaxLiveFiles {                                                                                 // each has a predecessor's file as well
		return err
	}
	age := func(e os.DirEntry) (t time.Time) {
		if info, err := e.Info(); err == nil {
			t = info.ModTime()
		}
		return t
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return age(a).Compare(age(b)) })
	for _, e := range entries[:len(entries)-2*runstate.MaxLiveFiles] {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil { // a regular file, or not Ward's
			return err
		}
	}
	return nil
}

// tell queues an event of the host's and never blocks.
func (v *eventLog) tell(e live.Event) {
	e.Time, e.Role = time.Now(), live.Host
	select {
	case v.own <- e:
	default:
	}
}

// run writes events until ctx ends, and then the queued ones.
func (v *eventLog) run(ctx context.Context) {
	defer close(v.ended)
	tick := time.NewTicker(livesEvery)
	defer tick.Stop()
	for {
		select {
		case e := <-v.own:
			v.writeOwn(e)
		case <-tick.C:
			v.look()
		case <-ctx.Done():
			v.close()
			return
		}
	}
}

func (v *eventLog) writeOwn(e live.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.write(e)
}

// close writes what is queued; ears are closed by their owners.
func (v *eventLog) close() {
	for {
		select {
		case e := <-v.own:
			v.writeOwn(e)
		default:
			v.look()
			v.mu.Lock()
			defer v.mu.Unlock()
			for _, file := range v.files {
				file.close()
			}
			return
		}
	}
}

// look writes changed usage figures and the number of dropped lines.
func (v *eventLog) look() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range v.ears {
		e.look()
	}
	v.lookCosts()
	if !v.told && len(v.signs) > 0 {
		v.told = runstate.TellSigns(v.bare, v.signs) == nil
	}
}

func (v *eventLog) lookCosts() {
	info, err := os.Stat(filepath.Join(v.bare, runstate.MeterPath))
	if err != nil || info.ModTime().Equal(v.meter) {
		return
	}
	v.meter = info.ModTime()
	costs, err := runstate.Costs(v.bare)
	if err != nil {
		return
	}
	for name, c := range costs {
		if c == v.costs[name] {
			continue
		}
		text := ""
		if c.HeldCalls > 0 {
			text = fmt.Sprintf("%s in flight, at most %d tokens and $%s more", diag.Count(c.HeldCalls, "call"), c.HeldTokens, c.HeldMoney)
		}
		v.write(live.Event{Time: time.Now(), Unit: name, Role: live.Host, Kind: live.Gateway, Input: c.Input, Output: c.Output, Money: c.Money, Text: text})
	}
	v.costs = costs
}

// write appends an event to its directive's file. Errors are ignored.
func (v *eventLog) write(e live.Event) {
	name := e.Directive()
	if name == "" {
		return
	}
	file := v.files[name]
	if file == nil {
		if len(v.files) >= maxOpen {
			v.closeOldest()
		}
		var err error
		if file, err = v.begin(name); err != nil {
			return
		}
		v.files[name] = file
	}
	file.used = time.Now()
	file.limited.Write(e.Line())
}

// maxOpen is how many directives' files are open at once: one per worker would do, but a
// launch may see any number of directives.
const maxOpen = 128

// liveFile has a directive's events: one file for people, and one for the agent.
type liveFile struct {
	limited *logfile.Limited
	files   []*logfile.File
	used    time.Time
}

func (f *liveFile) close() {
	f.limited.Flush()
	for _, file := range f.files {
		file.Close()
	}
}

// closeOldest closes the file that was written to least recently, and removes surplus files.
func (v *eventLog) closeOldest() {
	oldest := slices.MinFunc(slices.Collect(maps.Keys(v.files)), func(a, b string) int { return v.files[a].used.Compare(v.files[b].used) })
	v.files[oldest].close()
	delete(v.files, oldest)
	v.tidy() // the next launch tries again
}

// begin opens a directive's files.
func (v *eventLog) begin(name string) (*liveFile, error) {
	f := &liveFile{}
	var both []io.Writer
	for _, at := range []struct {
		dir  string
		mode os.FileMode
	}{{v.bare, 0o640}, {v.inside, 0o644}} {
		file, err := logfile.Open(filepath.Join(at.dir, runstate.LivePath(name)), runstate.MaxLive, at.mode)
		if err != nil {
			for _, file := range f.files {
				file.Close()
			}
			return nil, err
		}
		f.files, both = append(f.files, file), append(both, file)
	}
	f.limited = logfile.Limit(io.MultiWriter(both...), logfile.Share{Burst: livesBurst, PerMinute: livesPerMinute, Told: func(lines int) []byte {
		return live.Event{Time: time.Now(), Unit: name, Role: live.Host, Kind: live.LeftOut, Text: fmt.Sprintf("%s left out: too much at once", diag.Count(lines, "event"))}.Line()
	}})
	return f, nil
}

// tellLive writes an event of the host's about a unit or directive.
func (l *launch) tellLive(e live.Event) {
	if l.eventLog != nil {
		l.eventLog.tell(e)
	}
}
