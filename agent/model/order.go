package model

import (
	"cmp"
	"fmt"
	"time"

	"git-ward/internal/diag"
)

// Instead begins what is said of work that another model takes over.
const Instead = "Another model goes on: "

// Order is several models, of whom the first is asked, and the next where one is away.
type Order struct {
	Names []string // at the provider; "" for the one that a program chooses itself
	Pause time.Duration
	Note  func(text string) // is told of each change

	at    int       // of who is asked
	since time.Time // when it took over
}

// Begin goes back to the first, where the pause is over.
func (o *Order) Begin() {
	if o.at > 0 && time.Since(o.since) >= o.Pause {
		o.at = 0
	}
}

// Name is the name of the model that is asked now.
func (o *Order) Name() string { return o.Names[o.at] }

// Next goes on with the next one, and tells why. It is false where none is left.
func (o *Order) Next(why string) bool {
	if o.at == len(o.Names)-1 {
		return false
	}
	from := cmp.Or(o.Name(), "the program's own choice")
	o.at, o.since = o.at+1, time.Now()
	o.Note(fmt.Sprintf("%s%s, for %s is away: %s", Instead, diag.Clean(o.Name()), diag.Clean(from), diag.Clean(diag.Cut(why, 300))))
	return true
}
