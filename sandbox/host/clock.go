package host

import "time"

func (h *Host) now() time.Time {
	if h.Now != nil {
		return h.Now()
	}
	return time.Now()
}

// maxBack is by how much the wall clock may be put back until the plan is made anew.
const maxBack = time.Second

// putBack reports whether the wall clock was put back since the last plan: what that waits for, by
// a time that a record or a lease names, is further away by the whole jump.
func (h *Host) putBack(now time.Time) bool {
	back := h.wall.Add(time.Since(h.planned)).Sub(now.Round(0))
	if back <= maxBack {
		return false
	}
	h.Log.Warn().Stringer("by", back.Round(time.Second)).Msg("the clock was put back; the plan is made anew")
	return true
}
