package modeltest

import (
	"sync"
	"time"
)

// Outage is a period in which the API answers every request with a fault.
type Outage struct {
	After  int           // requests that are answered before it
	For    time.Duration // from the first request on that is not
	Faults []Fault       // that come in turn
}

// Around wraps a model so that the outage comes first.
func (o Outage) Around(play func(*Request) Turn) func(*Request) Turn {
	var mu sync.Mutex
	var began time.Time
	n := 0
	return func(r *Request) Turn {
		mu.Lock()
		defer mu.Unlock()
		if n++; n > o.After && began.IsZero() {
			began = time.Now()
		}
		if began.IsZero() || time.Since(began) > o.For {
			return play(r)
		}
		fault := o.Faults[(n-o.After-1)%len(o.Faults)]
		if fault == (Fault{}) {
			return Turn{} // an empty answer
		}
		return Turn{Text: "half of it, and the rest of it, and more of it", Fault: fault,
			Calls: []Call{{Name: "bash", Args: `{"command":"touch from-an-answer-that-was-cut"}`}}}
	}
}
