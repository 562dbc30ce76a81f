package client

import "sync"

// maxKept bounds the cached answers, in bytes.
const maxKept = 16 << 20

// known is a cached answer with its ETag.
type known struct {
	tag string
	answered
}

// kept caches the answers of repeated requests. For an unchanged one the forge sends no body,
// and GitHub does not count the call.
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

// put caches an answer with an ETag. If the cache is full it is emptied; what is still used
// comes back.
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
