package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"git-ward/internal/diag"

	"golang.org/x/sync/singleflight"
)

// The limits of drawing. A page is drawn once for all clients, and cached until the repository changes.
const (
	drawing    = 20 * time.Second
	drawers    = 2  // at a time: a drawing starts children of git
	waiters    = 32 // different pages that wait to be drawn
	maxPage    = 4 << 20
	maxKept    = 16 << 20
	fresh      = look * 3 / 4 // how old a version may be
	asking     = 10 * time.Second
	unreadable = "the repository cannot be read at the moment"
)

var errBusy = errors.New("too many pages are being made")

// errGone means that the repository cannot be read at present.
var errGone = errors.New(unreadable)

// pages is a Site with its drawn pages of the current version. After an error the Site is
// closed and opened again, because a moved repository may come back.
type pages struct {
	open   func(context.Context) (Site, error)
	say    *teller
	name   string          // the Site's
	base   context.Context // for drawing, which serves several requests
	end    func()
	turns  chan struct{}
	queue  chan struct{}
	flight singleflight.Group

	site sync.RWMutex // read-locked while current is used
	// current is nil after trouble.
	current Site

	mu   sync.Mutex
	at   time.Time // when known was asked
	seen string
	err  error
	kept map[string][]byte // by path and query, of the version seen
	size int
}

func newPages(ctx context.Context, open func(context.Context) (Site, error), say *teller) (*pages, error) {
	site, err := open(ctx)
	if err != nil {
		return nil, err
	}
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	return &pages{open: open, say: say, name: site.Name(), base: base, end: end, current: site, turns: make(chan struct{}, drawers),
		queue: make(chan struct{}, waiters), kept: map[string][]byte{}}, nil
}

// stop ends what is being drawn, and drops the Site.
func (p *pages) stop() {
	p.end()
	p.drop()
}

func (p *pages) drop() {
	p.site.Lock()
	defer p.site.Unlock()
	p.current = nil
}

// version returns the Site's version, at most a second old; the error is errGone if it cannot be read.
func (p *pages) version(ctx context.Context) (string, error) {
	p.mu.Lock()
	if time.Since(p.at) < fresh {
		defer p.mu.Unlock()
		return p.seen, p.err
	}
	p.mu.Unlock()
	answer := p.flight.DoChan("", func() (any, error) {
		return p.ask()
	})
	select {
	case got := <-answer:
		return got.Val.(string), got.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ask asks the Site for its version, opening it where it was lost.
func (p *pages) ask() (string, error) {
	ctx, cancel := context.WithTimeout(p.base, asking)
	defer cancel()
	var version string
	err := survived(func() (err error) {
		version, err = p.opened(ctx)
		return err
	})
	if err != nil {
		p.say.line("gone", fmt.Sprintf("%s, and is asked for again: %v", unreadable, err))
		p.drop()
		version, err = "", errGone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if version != p.seen {
		p.kept, p.size = map[string][]byte{}, 0
	}
	p.at, p.seen, p.err = time.Now(), version, err
	return version, err
}

// survived turns a panic into an error, because it happens in a separate goroutine, where it
// would end the server.
func survived(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("please report this: %v %s", v, diag.Cut(string(debug.Stack()), 2000))
		}
	}()
	return f()
}

// opened is the version of the Site, which is opened where it was lost.
func (p *pages) opened(ctx context.Context) (string, error) {
	p.site.Lock()
	if p.current == nil {
		site, err := p.open(p.base) // p.base, because the Site outlives this request
		if err != nil {
			p.site.Unlock()
			return "", err
		}
		p.current = site
	}
	p.site.Unlock()
	p.site.RLock()
	defer p.site.RUnlock()
	if p.current == nil {
		return "", errGone
	}
	return p.current.Version(ctx)
}

// page returns a page of the current version.
func (p *pages) page(ctx context.Context, path string, query url.Values) ([]byte, error) {
	version, err := p.version(ctx)
	if err != nil {
		return nil, err
	}
	key := path + "?" + query.Encode()
	p.mu.Lock()
	text, ok := p.kept[key]
	p.mu.Unlock()
	if ok {
		return text, nil
	}
	answer := p.flight.DoChan(version+" "+key, func() (any, error) {
		text, err := p.draw(path, query)
		if err == nil {
			p.keep(version, key, text)
		}
		return text, err
	})
	select {
	case got := <-answer:
		text, _ := got.Val.([]byte)
		return text, got.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pages) draw(path string, query url.Values) ([]byte, error) {
	select {
	case p.queue <- struct{}{}:
		defer func() { <-p.queue }()
	default:
		return nil, errBusy
	}
	p.turns <- struct{}{}
	defer func() { <-p.turns }()
	ctx, cancel := context.WithTimeout(p.base, drawing)
	defer cancel()
	p.site.RLock()
	defer p.site.RUnlock()
	if p.current == nil {
		return nil, errGone
	}
	var text []byte
	err := survived(func() (err error) {
		text, err = p.current.Page(ctx, path, query)
		return err
	})
	if err == nil && len(text) > maxPage {
		err = fmt.Errorf("the page has %d bytes, more than %d", len(text), maxPage)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.say.line("page", fmt.Sprintf("the page %s cannot be made: %v", path, err))
	}
	return text, err
}

// keep caches a page unless the repository has changed meanwhile.
func (p *pages) keep(version, key string, text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if version != p.seen || p.err != nil {
		return
	}
	if p.size+len(text) > maxKept {
		p.kept, p.size = map[string][]byte{}, 0
	}
	p.kept[key] = text
	p.size += len(text)
}
