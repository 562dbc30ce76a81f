package host

import "time"

func (h *Host) now() time.Time {
	if h.spec.Now != nil {
		return h.spec.Now()
	}
	return time.Now()
}

// planned says when the last plan was made, and when the next one is.
type planned struct {
	at    time.Time // by the monotonic clock
	wall  time.Time // and by the wall clock
	again time.Time // even if nothing has moved
}

// maxBack is how far the wall clock may be put back before the plan is made again.
const maxBack = time.Second

// putBack reports whether the wall clock was put back since the last plan. Waits until a time
// in a record or lease are longer by the whole jump then.
func (h *Host) putBack(now time.Time) bool {
	back := h.planned.wall.Add(time.Since(h.planned.at)).Sub(now.Round(0))
	if back <= maxBack {
		return false
	}
	h.spec.Log.Warn().Stringer("by", back.Round(time.Second)).Msg("the clock was put back; the plan is made anew")
	return true
}
