package bootstrap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"git-ward/protocols/boot"
)

// The kinds of signals, which are the names of their files. A rollback is the way
// out of trouble, so it goes first.
const (
	rollback  = "rollback"
	bootstrap = "bootstrap"
)

var kinds = []string{rollback, bootstrap}

// peek reads a signal where it lies. ok is whether there is one; err says what is
// wrong with it.
func (w *watcher) peek(kind string) (name string, ok bool, err error) {
	return readSignal(filepath.Join(w.signals(), kind))
}

func readSignal(path string) (name string, ok bool, err error) {
	data, err := readRegular(path, boot.MaxSignal)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err == nil {
		name, err = boot.ParseSignal(data)
	}
	return name, true, err
}

// signaled reports whether a signal waits that ends the agent. Malformed ones are
// done away with at once: they are no reason to.
func (w *watcher) signaled() bool {
	for _, kind := range kinds {
		_, ok, err := w.peek(kind)
		switch {
		case ok && err == nil:
			return true
		case ok:
			w.refuse(kind, err)
		}
	}
	return false
}

// claim moves a signal to where the agent cannot reach it. What arrives under its
// name from now on is another one.
func (w *watcher) claim(kind string) string {
	path := w.own("claimed-" + kind)
	if err := os.Rename(filepath.Join(w.signals(), kind), path); err != nil {
		return ""
	}
	return path
}

// refuse removes a malformed signal and reports it. A directory of the agent's
// cannot be moved or removed by another user: it is renamed out of the way.
func (w *watcher) refuse(kind string, why error) {
	path := filepath.Join(w.signals(), kind)
	if claimed := w.claim(kind); claimed != "" {
		os.RemoveAll(claimed)
	} else if err := os.RemoveAll(path); err != nil {
		err = os.Rename(path, filepath.Join(w.signals(), fmt.Sprintf(".refused-%s-%d", kind, w.now().UnixNano())))
		if err != nil {
			w.log.Error().Err(err).Msg("the signal cannot be removed")
		}
	}
	w.report(boot.Failure, boot.Unknown, boot.Unknown, "malformed signal "+kind+": "+why.Error())
	w.tell(notice{Status: "GUARD", Kind: "signal", Text: fmt.Sprintf("The agent wrote a malformed signal `%s`: %v. It is removed.", kind, why)})
}

// take makes the waiting signal the hop that is done next. The state has it before
// the claimed file goes: a kill in between does not lose it, and does not do it
// twice.
func (w *watcher) take() {
	for _, kind := range kinds {
		claimed := w.own("claimed-" + kind)
		if name, ok, err := readSignal(claimed); ok { // the watcher before us died here
			if err == nil && w.state.Hop == nil {
				w.accept(kind, name)
			}
			os.RemoveAll(claimed)
		}
		if _, ok, err := w.peek(kind); !ok {
			continue
		} else if err != nil {
			w.refuse(kind, err)
			continue
		}
		path := w.claim(kind)
		name, ok, err := readSignal(path)
		if !ok || err != nil { // it changed under our eyes
			os.RemoveAll(path)
			continue
		}
		if h := w.state.Hop; h != nil && (kind == h.Kind || kind == bootstrap) {
			w.report(boot.Failure, name, boot.Unknown, fmt.Sprintf("the signal %s came together with %s %s, which goes first", kind, h.Kind, h.Name))
		} else {
			w.accept(kind, name)
		}
		os.RemoveAll(path)
	}
}

func (w *watcher) accept(kind, name string) {
	w.log.Info().Str("signal", kind).Str("name", name).Msg("a signal")
	w.state.Hop = &hop{Kind: kind, Name: name}
	w.save()
}
