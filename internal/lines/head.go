package lines

import "cmp"

// Head keeps the first bytes that are written to it, and drops the rest. It is not safe for concurrent
// use.
type Head struct {
	Most int // bytes; 0 is 2 KiB
	data []byte
}

// Write keeps as much as fits. It never fails.
func (h *Head) Write(p []byte) (int, error) {
	if room := cmp.Or(h.Most, 2<<10) - len(h.data); room > 0 {
		h.data = append(h.data, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// Bytes returns what was kept.
func (h *Head) Bytes() []byte { return h.data }

// String returns what was kept, as text.
func (h *Head) String() string { return string(h.data) }
