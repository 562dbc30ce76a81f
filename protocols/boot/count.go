package boot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What the host counts of one program over containers, each as a list of refs: the commits that had
// the program, 1 and further, as many as the count. Only the host moves them; a watcher that knows
// nothing of a program goes on from there.
const (
	// Deaths are ends of main's program that nobody asked for; one counts ADeath.
	Deaths = "deaths"
	// Idle are workers in a row whose agents answered with main's program and did nothing.
	Idle = "idle"
	// Trials are the probations of a program that were begun by the workers of one directive, and
	// that have no end.
	Trials = "trials"
	// Hops are the starts of a program that a signal asked for, and that have come to no agent and to
	// no failure, of the workers of one directive.
	Hops = "hops"
	// Ends are bad ends in a row of the workers of one directive, while the project had one program.
	Ends = "ends"
)

// Counted are all that there is to count.
func Counted() []string { return []string{Deaths, Idle, Trials, Hops, Ends} }

// What a death and a good end count.
const (
	ADeath   = 2
	AGoodEnd = 1
	// MaxDeaths is three deaths in a row.
	MaxDeaths = 3 * ADeath
)

// MaxCount is where the host stops counting.
const MaxCount = MaxDeaths

// CountPrefix begins the refs of a count; trials, hops and ends have a directive.
func CountPrefix(of, directive string) string {
	if of == Deaths || of == Idle {
		return Prefix + of + "/"
	}
	return Prefix + of + "/" + directiveOr(directive) + "/"
}

// CountRef is a ref of a count, from 1.
func CountRef(prefix string, n int) string { return prefix + strconv.Itoa(n) }

// Counts begins the line on the watcher's standard output that tells the host what there is to
// count; a Count follows.
const Counts = Words + "counts "

// Count is what there is to count of the program of a commit.
type Count struct {
	Of     string // Deaths, Trials or Hops
	By     int    // more, or less
	Commit string
}

func (c Count) String() string { return fmt.Sprintf("%s %d %s", c.Of, c.By, c.Commit) }

// ParseCount reads what String writes. What counts more than a list has, or nothing, is none.
func ParseCount(said string) (c Count, err error) {
	words := strings.Split(said, " ")
	if len(words) == 3 && slices.Contains([]string{Deaths, Trials, Hops}, words[0]) {
		c = Count{Of: words[0], Commit: words[2]}
		c.By, err = strconv.Atoi(words[1])
	}
	if err != nil || c.String() != said || c.By == 0 || max(c.By, -c.By) > MaxCount {
		return Count{}, fmt.Errorf("%.80q is no count", said)
	}
	return c, nil
}
