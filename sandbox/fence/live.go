package fence

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
	"sync/atomic"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/live"
	"git-ward/internal/logfile"
	"git-ward/internal/runstate"
	"git-ward/protocols/uow"
)

const (
	// livesQueue is how many lines of the agent's wait to be written down; more are left
	// out, so that nobody waits for a disk.
	livesQueue = 1024
	// livesBurst and livesPerMinute bound what is written down of one directive, in bytes.
	livesBurst, livesPerMinute = 1 << 20, 512 << 10
	// livesEvery is the time between two looks at what is told by nobody: figures, signs.
	livesEvery = 500 * time.Millisecond
	// activeFor is how long what is said of a directive counts that is not the ACTIVE one
	// any more: the words and its end come by different ways.
	activeFor = 10 * time.Second
	// askEvery is how often that directive is looked for where no unit and no directive has
	// moved: once in a while, should a look have failed.
	askEvery = time.Minute
)

// lives writes down what is told of the work as it goes on, by directive, for those who
// look (SEE-1). What the agent tells is cut, cleaned, redacted by the gate's rules, and
// taken of the directive alone that the host knows to be worked on.
type lives struct {
	bare    string
	control string              // the ref of the directives
	inside  string              // likewise, for an agent that takes up what another one left: beside the settings' copy
	redact  func(string) string // nil takes nothing out
	payer   func() string       // the directive that is worked on now

	queue chan []byte     // lines of the agent's
	full  atomic.Int64    // how many had no room in it
	own   chan live.Event // the host's
	ended chan struct{}

	files  map[string]*liveFile
	signs  map[string]runstate.Sign
	active map[string]time.Time // when a directive was the one that is worked on
	now    string               // that directive, when refs were at mark
	last   string               // the newest that there was
	before string               // the end of the words that were told last
	marks  [2]git.Mark
	asked  time.Time
	costs  map[string]runstate.Cost
	meter  time.Time // of the meter's file, as it was read last
	told   bool      // the signs are written down
	left   int       // lines that were no events, or too many, since they were told of
}

// newLives begins to write down. Close it.
func (l *launch) newLives() *lives {
	v := &lives{
		bare: l.spec.Bare, control: l.spec.Settings.Control.Ref(), inside: filepath.Dir(configCopy(l.spec.State)), redact: l.spec.Redact, payer: l.payer,
		queue: make(chan []byte, livesQueue), own: make(chan live.Event, livesQueue), ended: make(chan struct{}),
		files: map[string]*liveFile{}, signs: map[string]runstate.Sign{}, active: map[string]time.Time{},
	}
	runstate.ForgetSigns(v.bare)
	v.costs, _ = runstate.Costs(v.bare)
	if err := v.tidy(); err != nil {
		l.log.Warn().Err(err).Msg("what is told of the work is not kept")
	}
	return v
}

// tidy makes the directory, and removes the files that were written longest ago of too many.
func (v *lives) tidy() error {
	return errors.Join(tidy(filepath.Join(v.bare, runstate.LiveDir)), tidy(filepath.Join(v.inside, runstate.LiveDir)))
}

func tidy(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= 2*runstate.MaxLiveFiles { // each has one before it
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
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// heard takes a line of the agent's, and never waits.
func (v *lives) heard(line []byte) []byte {
	select {
	case v.queue <- slices.Clone(line):
	default:
		v.full.Add(1)
	}
	return nil
}

// tell takes an event of the host's, and never waits.
func (v *lives) tell(e live.Event) {
	e.Time, e.Role = time.Now(), live.Host
	select {
	case v.own <- e:
	default:
	}
}

// run writes down until ctx ends, and then what waits still.
func (v *lives) run(ctx context.Context) {
	defer close(v.ended)
	tick := time.NewTicker(livesEvery)
	defer tick.Stop()
	for {
		select {
		case line := <-v.queue:
			v.take(line)
		case e := <-v.own:
			v.write(e)
		case <-tick.C:
			v.look()
		case <-ctx.Done():
			v.close()
			return
		}
	}
}

func (v *lives) close() {
	for {
		select {
		case line := <-v.queue:
			v.take(line)
		case e := <-v.own:
			v.write(e)
		default:
			v.look()
			for _, file := range v.files {
				file.close()
			}
			return
		}
	}
}

// take takes what an agent tells, where it is an event of what is worked on.
func (v *lives) take(line []byte) {
	e, err := live.FromAgent(line)
	if err != nil || !v.works(e.Directive()) {
		v.left++
		return
	}
	now := time.Now()
	if e.Time.Sub(now).Abs() > time.Minute { // its clock is its own
		e.Time = now
	}
	sign := v.signs[e.Directive()]
	sign.Beat, v.told = now, false
	if e.Kind != live.Beat {
		sign.Work = now
	}
	v.signs[e.Directive()] = sign
	if e.Kind == live.Beat {
		return
	}
	if v.redact != nil {
		e.Text, e.Tool, e.Role = v.redactJoined(e), v.redact(e.Tool), v.redact(e.Role)
	}
	v.write(e)
}

// maxBefore is how much of the words before is looked at with the next ones, in bytes: more
// than half of any secret that is told by its form.
const maxBefore = 256

// redactJoined takes secrets out of an event's text, and the rest of one that began in the
// words before it: an agent that is not ours may tell it by halves.
func (v *lives) redactJoined(e live.Event) string {
	before, clean := v.before, v.redact(e.Text)
	if e.Kind != live.Said {
		return clean
	}
	all := before + e.Text
	v.before = all[max(0, len(all)-maxBefore):]
	both := v.redact(all)
	if before == "" || both == v.redact(before)+clean {
		return clean
	}
	same := 0
	for same < min(len(before), len(both)) && before[same] == both[same] {
		same++
	}
	return strings.ToValidUTF8(both[same:], "")
}

// works says whether a directive is worked on, or was a moment ago.
func (v *lives) works(directive string) bool {
	if time.Since(v.active[directive]) < activeFor {
		return true
	}
	v.lookActive()
	return time.Since(v.active[directive]) < activeFor
}

func (v *lives) lookActive() {
	repo := git.Open(v.bare)
	if marks := [2]git.Mark{repo.Mark(uow.RefPrefix), repo.Mark(v.control)}; marks != v.marks || time.Since(v.asked) > askEvery {
		v.now, v.marks, v.asked = v.payer(), marks, time.Now()
	}
	if v.now != "" {
		v.active[v.now], v.last = time.Now(), v.now
	}
}

// look tells the figures that are new, and what was left out.
func (v *lives) look() {
	v.lookActive()
	v.lookCosts()
	if v.left > 0 {
		v.write(live.Event{Time: time.Now(), Role: live.Host, Kind: live.LeftOut, Text: fmt.Sprintf("%s left out: no events of the directive that is worked on", diag.Count(v.left, "line"))})
		v.left = 0
	}
	if n := v.full.Swap(0); n > 0 {
		v.write(live.Event{Time: time.Now(), Role: live.Host, Kind: live.LeftOut, Text: fmt.Sprintf("%s left out: they came faster than they can be written down", diag.Count(int(n), "line"))})
	}
	if !v.told && len(v.signs) > 0 {
		v.told = runstate.TellSigns(v.bare, v.signs) == nil
	}
}

func (v *lives) lookCosts() {
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

// write appends an event to its directive's file; one of no unit is about what was worked
// on last. That it cannot is nobody's trouble.
func (v *lives) write(e live.Event) {
	if e.Unit == "" {
		e.Unit = v.last
	}
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

// maxOpen is how many directives have their files open: one is worked on at a time, and a
// launch may see any number of them.
const maxOpen = 8

// liveFile is what a directive's events are written to: a file for those who look, and one
// for the agent.
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

// closeOldest closes what was written to longest ago, and removes the files that are too many.
func (v *lives) closeOldest() {
	oldest := slices.MinFunc(slices.Collect(maps.Keys(v.files)), func(a, b string) int { return v.files[a].used.Compare(v.files[b].used) })
	v.files[oldest].close()
	delete(v.files, oldest)
	v.tidy() // what cannot be removed now is at the next launch
}

// begin opens the files of a directive.
func (v *lives) begin(name string) (*liveFile, error) {
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

// tellLive tells an event of the host's on what is worked on now.
func (l *launch) tellLive(e live.Event) {
	if l.lives != nil {
		l.lives.tell(e)
	}
}

// ended tells how what worked has ended.
func (l *launch) ended(err error) {
	words := "it ended in good order"
	if err != nil {
		words, _, _ = strings.Cut(diag.Clean(err.Error()), "\n")
	}
	l.tellLive(live.Event{Kind: live.Ended, Text: words})
}
