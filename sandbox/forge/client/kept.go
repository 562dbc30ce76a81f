package client

import "sync"

// maxKept bounds what is kept of answers, in bytes.
const maxKept = 16 << 20

// known is an answer with the tag by which the forge says that it is still good.
type known struct {
	tag string
	answered
}

// kept are the answers to what is asked again and again: where one is still good the forge
// sends nothing, and GitHub counts no call.
type kept struct {
	mu    sync.Mutex
	by    map[string]*known
	bytes int
}

func (k *kept) get(at string) *known {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.by[at]
}

// put keeps an answer that has a tag. When there are too many, all go: what is still asked for
// comes again by itself.
func (k *kept) put(at, tag string, a answered) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.by[at]; old != nil {
		k.bytes -= len(old.body)
		delete(k.by, at)
	}
	if tag == "" || len(a.body) > maxKept/4 {
		return
	}
	if k.by == nil || k.bytes+len(a.body) > maxKept {
		k.by, k.bytes = map[string]*known{}, 0
	}
	k.by[at] = &known{tag, a}
	k.bytes += len(a.body)
}
