package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/protocols/comms"
)

// Left is a path that a claim changed against main, and that is not work.
type Left struct {
	Path string `json:"path"` // as comms.QuotePath writes it
	Kind string `json:"kind"` // added, changed or deleted
	Mode string `json:"mode"` // of what the claim has there
	Blob string `json:"blob"`
}

// Words is the path with its kind.
func (l Left) Words() string { return l.Path + " (" + l.Kind + ")" }

// Include is the entry with which the PM can include it.
func (l Left) Include() (comms.Included, error) {
	path, err := comms.UnquotePath(l.Path)
	return comms.Included{Path: path, Mode: l.Mode, Blob: l.Blob}, err
}

// Where the work's programs run. Same is for work that can run in its tests' process, Separate
// for a command that starts it from outside, and for what is held out (PROOF-1).
const (
	SameProcess     = "same"
	SeparateProcess = "separate"
)

// InProcess is the verdict on work that is a program: it says Same unless each command says
// Separate.
func (v Verdict) InProcess() Verdict {
	same := func(o Outcome) bool { return o.Process != SeparateProcess }
	v.Process = SeparateProcess
	if slices.ContainsFunc(v.Criteria, same) || v.ResidualRun != nil && same(*v.ResidualRun) {
		v.Process = SameProcess
	}
	return v
}

// Told is the verdict with what the PM included since, as far as it settles a doubt: a checker that is
// work by the PM's word is none to the host that judges again.
func (v Verdict) Told(included []comms.Included) Verdict {
	var open []Left
	for _, l := range v.Checkers {
		if i, err := l.Include(); err == nil && slices.Contains(included, i) {
			v.Included = append(slices.Clip(v.Included), l.Path)
		} else {
			open = append(open, l)
		}
	}
	v.Checkers = open
	return v
}

// paths are those of a list.
func paths(list []Left) (names []string) {
	for _, l := range list {
		names = append(names, l.Path)
	}
	return names
}

// Includable are the paths that the PM can include, with what the claim has there: what was left out,
// and what a command checks by.
func (v Verdict) Includable() []Left { return slices.Concat(v.Left, v.Checkers) }

// maxLeft bounds what a verdict lists of what was left out.
const maxLeft = 500

// listing is the verdict with so much of what can be included.
func (v Verdict) listing(most int) Verdict {
	if n := len(v.Left) - most; n > 0 {
		v.Left, v.LeftMore = v.Left[:most], v.LeftMore+n
	}
	if n := len(v.Checkers) - most; n > 0 {
		v.Checkers, v.CheckersMore = v.Checkers[:most], v.CheckersMore+n
	}
	return v
}

// The limits of a verdict's lists of paths: their number, and the bytes of each path.
const (
	maxListed     = 100
	maxReplaced   = 10 // functions: each stands once for each test's file
	maxListedPath = 300
)

// listed is the beginning of a list, and how much there is more. What it made it leaves as it
// is, so that a verdict that was read has the line that was signed.
func listed(paths []string) []string { return listedTo(maxListed, paths) }

func listedTo(most int, paths []string) []string {
	cut := make([]string, 0, min(len(paths), most+1))
	for i, p := range paths {
		if i == most && len(paths) > most+1 {
			return append(cut, fmt.Sprintf("and %d more", len(paths)-i))
		}
		if len(p) > maxListedPath+len(gap) {
			p = strings.ToValidUTF8(p[:maxListedPath/2], "") + gap + strings.ToValidUTF8(p[len(p)-maxListedPath/2:], "")
		}
		cut = append(cut, p)
	}
	return cut
}

// gap stands for what is left out of a path.
const gap = "..."

// LeftWords are the paths that were left out, with what became of each.
func (v Verdict) LeftWords() []string {
	list := slices.Clone(v.Additions)
	for _, l := range v.Left {
		list = append(list, l.Words())
	}
	if v.LeftMore > 0 {
		list = append(list, fmt.Sprintf("and %d more", v.LeftMore))
	}
	return list
}

// With combines the verdict v on the deciding run with that of one more run of all commands on
// the whole claim (PROOF-1).
//
// Both must pass, and the weaker verdict holds. If only the run on the whole claim passes,
// only the PM can say whether what was left out is work or judges it: NONE.
func (v Verdict) With(all Verdict) Verdict {
	left, included := v.Left, v.Included
	switch {
	case v.Verdict == None && all.Verdict == None:
		if v.Agree && all.Agree && len(left) > 0 {
			v = v.failing(all)
		}
	case v.Verdict == None && !v.Agree:
	case v.Verdict == None && len(left) == 0:
		v.Reason = "it passes only where it began, and not on main as it stands: " + v.Reason
	case v.Verdict == None:
		v.NotIncluded = true
		v.Reason = "it passes only with what is no work by the directive: " + some(v.LeftWords()) + "; without: " + v.Reason
	case all.Verdict == None:
		all.Reason = "the work passes, and all of the claim does not: " + all.Reason
		all.Trials = v.Trials
		all.Observed = v.Observed
		v = all
	case v.Verdict == Exact && all.Verdict == Converged:
		v.Verdict, v.Lane, v.Reason = all.Verdict, all.Lane, all.Reason
	}
	v.Left, v.Included = left, included
	return v
}

// failing is the verdict where the run on all of the claim fails as well: the first may fail for
// want of what was left out alone, and the second says what else is wrong.
func (v Verdict) failing(all Verdict) Verdict {
	v.Reason += "; with what is no work by the directive, too (" + some(v.LeftWords()) + "): " + all.Reason
	v.Criteria = slices.Clone(v.Criteria)
	for i := range min(len(v.Criteria), len(all.Criteria)) {
		o, with := &v.Criteria[i], &all.Criteria[i]
		if !o.Met && !with.Met && o.Tail != with.Tail {
			o.Tail = half(o.Tail) + "\nwith all of the claim:\n" + half(with.Tail)
		}
	}
	return v
}

// half is the end of an output, so long that two fit where one does.
func half(tail string) string {
	return strings.ToValidUTF8(strings.TrimSpace(tail[max(0, len(tail)-maxTail/2+32):]), "?")
}
