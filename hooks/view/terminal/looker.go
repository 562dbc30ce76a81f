package terminal

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/protocols/review"
)

// Source is the repository that is looked at: view.Source, as far as it is needed here.
type Source interface {
	Bare() bool
	Dir() string
	Version(ctx context.Context) (string, error)
	Overview(ctx context.Context) (*view.Overview, error)
	Directive(ctx context.Context, name string) (*view.Directive, error)
}

// Looker polls a repository and shows what has changed. What it cannot read stays as it was,
// with the error shown, and is read again later.
type Looker struct {
	Source   Source
	Fetch    func(context.Context) error // updates a clone; nil on the host
	Interval time.Duration               // the polling interval

	scene   Scene
	version string
	wrong   string // why it could not be read; "" when it could
	follows map[string]*runstate.Follower
	last    map[string]live.Event // newest event of each that is followed
	fetches fetching
	opens   chan string   // the directive that is to be open from now on
	again   chan struct{} // looks now
}

// wordsInterval is the polling interval for words while an agent works: they are shown within
// a second.
const wordsInterval = 300 * time.Millisecond

// NewLooker makes a Looker; name is the directive that is open at first, "" for none.
func NewLooker(source Source, name string, interval time.Duration) *Looker {
	scene := Scene{Clone: !source.Bare(), Name: name}
	if source.Bare() {
		scene.Dir = source.Dir()
	}
	return &Looker{Source: source, Interval: interval, scene: scene,
		follows: map[string]*runstate.Follower{}, last: map[string]live.Event{},
		opens: make(chan string, 1), again: make(chan struct{}, 1)}
}

// Open selects the directive to show from now on. It never waits.
func (l *Looker) Open(name string) {
	select { // only the newest wish counts
	case <-l.opens:
	default:
	}
	l.opens <- name
}

// Again asks for a poll now. It never waits.
func (l *Looker) Again() {
	select {
	case l.again <- struct{}{}:
	default:
	}
}

// Run polls until the context ends, and calls show for each scene with something new.
func (l *Looker) Run(ctx context.Context, show func(Scene)) {
	defer func() {
		for name := range l.follows {
			l.unfollow(name)
		}
	}()
	var next time.Time
	for ctx.Err() == nil {
		changed := false
		if now := time.Now(); !now.Before(next) {
			changed = l.look(ctx)
			next = now.Add(l.Interval)
		}
		heard, worried := l.hear(), l.worry()
		if ctx.Err() == nil && (changed || heard || worried) {
			l.scene.Now = time.Now()
			show(l.scene)
		}
		wait := time.Until(next)
		if l.busy() {
			wait = min(wait, wordsInterval)
		}
		if l.fetches.ended != nil {
			wait = min(wait, slowFetch)
		}
		select {
		case <-ctx.Done():
		case err := <-l.fetches.ended:
			l.fetches.end(err)
			next = time.Now()
		case name := <-l.opens:
			l.open(name)
			next = time.Now()
		case <-l.again:
			l.version, next = "", time.Time{}
		case <-time.After(max(wait, 0)): // poll: nothing notifies a reader of the files with words
		}
	}
}

// busy reports whether words may come.
func (l *Looker) busy() bool {
	return l.scene.Over != nil && l.scene.Over.Host != nil && l.scene.Over.Host.Running && len(l.follows) > 0
}

// look reads what has changed, and reports whether anything has.
func (l *Looker) look(ctx context.Context) bool {
	if l.Fetch != nil {
		l.fetches.begin(ctx, l.Interval, l.Fetch)
	}
	changed, err := l.read(ctx)
	if ctx.Err() != nil {
		return false
	}
	l.wrong = ""
	if err != nil {
		l.wrong, l.version = explain(err), "" // read again
	}
	return changed
}

// worry reports what is wrong now, and whether that has changed.
func (l *Looker) worry() bool {
	trouble := l.wrong
	if trouble == "" {
		trouble = l.fetches.trouble()
	}
	changed := trouble != l.scene.Trouble
	l.scene.Trouble = trouble
	return changed
}

// read reads the overview and the open directive if they have changed.
func (l *Looker) read(ctx context.Context) (changed bool, err error) {
	if _, err := os.Stat(l.Source.Dir()); err != nil { // git's own message would be hard to understand
		return false, fmt.Errorf("the repository is not there: %w", err)
	}
	version, err := l.Source.Version(ctx)
	if err != nil || version == l.version {
		return false, err
	}
	over, err := l.Source.Overview(ctx)
	if err != nil {
		return false, err
	}
	var one *view.Directive
	missing := false
	if l.scene.Name != "" {
		if !known(over, l.scene.Name) {
			missing = true
		} else if one, err = l.Source.Directive(ctx, l.scene.Name); err != nil {
			return false, err
		}
	}
	l.scene.Over, l.scene.One, l.scene.NotThere, l.version = over, one, missing, version
	l.followAll()
	return true, nil
}

func known(over *view.Overview, name string) bool {
	return slices.ContainsFunc(over.Directives, func(d view.Line) bool { return d.Directive == name })
}

// open changes the directive that is open.
func (l *Looker) open(name string) {
	if old := l.scene.Name; old != "" {
		l.unfollow(old)
	}
	l.scene.Name, l.scene.One, l.scene.NotThere, l.scene.Live, l.version = name, nil, false, nil, ""
}

// followAll follows the directives at work, and the open one.
func (l *Looker) followAll() {
	if l.scene.Clone {
		return
	}
	want := map[string]bool{l.scene.Name: l.scene.Name != "" && !l.scene.NotThere}
	for _, d := range l.scene.Over.Directives {
		if d.State == review.Working || d.State == review.Waiting {
			want[d.Directive] = true
		}
	}
	for name := range l.follows {
		if !want[name] {
			l.unfollow(name)
		}
	}
	for name := range want {
		if want[name] && l.follows[name] == nil && len(l.follows) < runstate.MaxLiveFiles {
			l.follows[name] = runstate.Follow(l.Source.Dir(), name)
			if name == l.scene.Name {
				l.scene.Live, _ = runstate.Tail(l.Source.Dir(), name, maxLive) // none is none
			}
		}
	}
}

func (l *Looker) unfollow(name string) {
	if f := l.follows[name]; f != nil {
		f.Close()
		delete(l.follows, name)
		delete(l.last, name)
	}
}

// hear reads new events, and reports whether there were any.
func (l *Looker) hear() bool {
	l.scene.New = nil
	for name, f := range l.follows {
		events, err := f.More()
		if err != nil {
			continue // the file was removed or replaced, and is opened again
		}
		if name == l.scene.Name {
			events = unheard(l.scene.Live, events)
			l.scene.Live = append(l.scene.Live, events...)
			l.scene.Live = append([]live.Event(nil), l.scene.Live[max(0, len(l.scene.Live)-maxLive):]...) // what is shown is another's from now on
		}
		if len(events) > 0 {
			l.last[name] = events[len(events)-1]
		}
		l.scene.New = append(l.scene.New, events...)
	}
	return len(l.scene.New) > 0
}

// unheard are events that were not among the newest kept ones: the tail of a newly followed
// file may overlap them.
func unheard(kept, events []live.Event) []live.Event {
	for i, e := range events {
		same := false
		for _, k := range kept[max(0, len(kept)-len(events)):] {
			same = same || k == e
		}
		if !same {
			return events[i:]
		}
	}
	return nil
}
