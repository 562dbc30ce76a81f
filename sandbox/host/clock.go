package host

import "time"

func (h *Host) now() time.Time {
	if h.Now != nil {
		return h.Now()
	}
	return time.Now()
}

// maxBack is how far the wall clock may be put back before the plan is made again.
const maxBack = time.Second

// putBack reports whether the wall clock was put back since the last plan. Waits until a time
// in a record or lease are longer by the whole jump then.
func (h *Host) putBack(now time.Time) bool {
	back := h.wall.Add(time.Since(h.planned)).Sub(now.Round(0))
	if back <= maxBack {
		return false
	}
	h.Log.Warn().Stringer("by", back.Round(time.Second)).Msg("the clock was put back; the plan is made anew")
	return true
}
