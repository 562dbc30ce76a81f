package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
)

const (
	// heldWait is how long a call waits for calls that hold the rest of its budget, because
	// most return nearly all that they reserved.
	heldWait = 15 * time.Second
	// settleDelay is how long a settlement may stay unwritten. A kill within it leaves the
	// call charged in full, never less.
	settleDelay = 200 * time.Millisecond
)

// Usage is tokens as the provider counts them. Input excludes tokens read from or written to
// the cache.
type Usage struct {
	Input          int64 `json:"input"`
	Output         int64 `json:"output"`
	CacheRead      int64 `json:"cache_read"`
	CacheWrite     int64 `json:"cache_write"`
	CacheWriteLong int64 `json:"cache_write_long"`
}

// Tokens is the sum that a budget of tokens counts.
func (u Usage) Tokens() int64 {
	return add(add(add(u.Input, u.Output), add(u.CacheRead, u.CacheWrite)), u.CacheWriteLong)
}

// Charge is a number of calls with their usage.
type Charge struct {
	Calls int64 `json:"calls"`
	Usage Usage `json:"usage"`
	Cost  Money `json:"cost"` // decimal text of dollars
}

func (c *Charge) add(d Charge) {
	c.Calls += d.Calls
	c.Cost = add(c.Cost, d.Cost)
	u, v := &c.Usage, d.Usage
	u.Input, u.Output = add(u.Input, v.Input), add(u.Output, v.Output)
	u.CacheRead = add(u.CacheRead, v.CacheRead)
	u.CacheWrite, u.CacheWriteLong = add(u.CacheWrite, v.CacheWrite), add(u.CacheWriteLong, v.CacheWriteLong)
}

// sub takes back what add added; reservations have input and output only.
func (c *Charge) sub(d Charge) {
	c.Calls -= d.Calls
	c.Cost -= d.Cost
	c.Usage.Input -= d.Usage.Input
	c.Usage.Output -= d.Usage.Output
}

// Account is what one directive has used. Held is what calls that run now may
// use at most; after a kill it is charged.
type Account struct {
	Used      Charge `json:"used"`
	Estimated int64  `json:"estimated"` // calls in Used.Calls without a reported usage
	Millis    int64  `json:"ms"`        // model time, summed over calls
	Held      Charge `json:"held"`
	// Assisted counts the billed calls by program and model.
	Assisted map[string]int64 `json:"assisted,omitempty"`
}

// Budget is a total of tokens of every kind and of dollars. Zero grants nothing, and Unlimited
// grants everything.
type Budget struct {
	Tokens int64
	Cost   Money
}

// file is the meter's stored form.
type file struct {
	Version    int                 `json:"version"`
	Directives map[string]*Account `json:"directives"`
	// Refused are the addresses that the proxy refused to a directive, once each.
	Refused map[string][]runstate.Refused `json:"refused,omitempty"`
}

// Meter counts what directives use, and keeps the count in a file. A
// reservation is on disk before its call goes out, so neither a restart nor a
// kill refills a budget. It is safe for concurrent use.
type Meter struct {
	path string
	lock *os.File

	mu      sync.Mutex
	state   file
	changed uint64        // number of the last change
	settled chan struct{} // closed and replaced when something is given back
	pending *time.Timer   // a write is scheduled

	writing sync.Mutex
	stored  uint64 // the last change that the file has
	closed  bool   // another process may have the file by now
}

// OpenMeter opens or makes the meter at path. What an earlier process had in
// flight when it was killed is charged in full. A second process is refused, and
// so is a file that is not whole: counting again from nothing would refill.
func OpenMeter(path string) (*Meter, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s is in use by another launcher: %w", path, err)
	}
	m := &Meter{path: path, lock: lock, settled: make(chan struct{})}
	if m.state, err = load(path); err == nil {
		err = atomicfile.Sweep(path)
	}
	if err == nil {
		for _, a := range m.state.Directives {
			a.Estimated += a.Held.Calls
			a.Used.add(a.Held)
			a.Held = Charge{}
		}
		m.changed = 1
		err = m.store(1)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return m, nil
}

func load(path string) (file, error) {
	s := file{Version: 1, Directives: map[string]*Account{}}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if os.IsNotExist(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer f.Close()
	err = json.UnmarshalRead(io.LimitReader(f, 64<<20), &s)
	for _, a := range s.Directives {
		if a == nil && err == nil {
			err = errors.New("an account is null")
		}
	}
	if err == nil && s.Version != 1 {
		err = fmt.Errorf("version %d is not 1", s.Version)
	}
	if err != nil {
		return s, diag.Hint(fmt.Errorf("%s is not a meter's file: %w", path, err),
			"mend it from a backup; removing it makes every directive's budget new")
	}
	return s, nil
}

// Close writes what is not yet written and closes the file.
func (m *Meter) Close() error {
	m.mu.Lock()
	if m.pending != nil {
		m.pending.Stop()
	}
	change := m.changed
	m.mu.Unlock()
	err := m.store(change)
	m.writing.Lock()
	defer m.writing.Unlock()
	m.closed = true
	return errors.Join(err, m.lock.Close())
}

// store returns when the file has the given change. Concurrent callers share one write.
func (m *Meter) store(change uint64) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.stored >= change {
		return nil
	}
	if m.closed {
		return errors.New("the meter is closed")
	}
	m.mu.Lock()
	change = m.changed
	data, err := json.Marshal(&m.state, json.Deterministic(true))
	m.mu.Unlock()
	if err == nil {
		err = atomicfile.Write(m.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("the meter cannot be written: %w", err)
	}
	m.stored = change
	return nil
}

// waitSettled returns when a reservation was given back or ctx ends.
func waitSettled(ctx context.Context, settled <-chan struct{}) bool {
	select {
	case <-settled:
		return true
	case <-ctx.Done():
		return false
	}
}
