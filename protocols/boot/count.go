package boot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Counts that the host keeps of one program across containers. Each count is a list of refs,
// numbered from 1, to commits that had the program; its length is the count. Only the host
// moves them, and a new watcher continues from them.
const (
	// Deaths counts unexpected ends of main's program, in units of ADeath.
	Deaths = "deaths"
	// Idle counts consecutive workers whose agents answered with main's program and did
	// nothing.
	Idle = "idle"
	// Trials counts the probations of a program that the workers of one directive began and
	// that did not end.
	Trials = "trials"
	// Hops counts the starts of a program that a signal of one directive's workers asked for
	// and that led neither to an agent nor to a failure.
	Hops = "hops"
	// Ends counts consecutive bad ends of one directive's workers, whose agents had answered,
	// while the project had one program.
	Ends = "ends"
)

// Counted are all that there is to count.
func Counted() []string { return []string{Deaths, Idle, Trials, Hops, Ends} }

// The weight of a death and of a good end.
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

// Count is one event to count for the program of a commit.
type Count struct {
	Of     string // Deaths, Trials or Hops
	By     int    // more, or less
	Commit string
}

func (c Count) String() string { return fmt.Sprintf("%s %d %s", c.Of, c.By, c.Commit) }

// ParseCount reads what String writes. A count of zero, or above MaxCount, is refused.
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
