package loop

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/protocols/comms"
)

// Left is a path that a claim changed relative to main and that does not count as work.
type Left struct {
	Path string `json:"path"` // as comms.QuotePath writes it
	Kind string `json:"kind"` // added, changed or deleted
	Mode string `json:"mode"` // in the claimed commit
	Blob string `json:"blob"`
}

// Words is the path with its kind.
func (l Left) Words() string { return l.Path + " (" + l.Kind + ")" }

// Include returns the entry by which the PM can include the path.
func (l Left) Include() (comms.Included, error) {
	path, err := comms.UnquotePath(l.Path)
	return comms.Included{Path: path, Mode: l.Mode, Blob: l.Blob}, err
}

// Where the work's code runs: in its tests' process, or in a process that the command or a held-out
// criterion starts (PROOF-1).
const (
	SameProcess     = "same"
	SeparateProcess = "separate"
)

// InProcess sets v.Process for work that is a program: SameProcess unless every command says
// SeparateProcess.
func (v Verdict) InProcess() Verdict {
	same := func(o Outcome) bool { return o.Process != SeparateProcess }
	v.Process = SeparateProcess
	if slices.ContainsFunc(v.Criteria, same) || v.ResidualRun != nil && same(*v.ResidualRun) {
		v.Process = SameProcess
	}
	return v
}

// Told applies the paths that the PM has included since the verdict. A checker that the PM included
// is work, so it is no longer a doubt.
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

// paths returns the paths of a list.
func paths(list []Left) (names []string) {
	for _, l := range list {
		names = append(names, l.Path)
	}
	return names
}

// Includable lists the paths that the PM can include: those left out, and the checkers.
func (v Verdict) Includable() []Left { return slices.Concat(v.Left, v.Checkers) }

// maxLeft bounds each list of left-out paths and of checkers in a verdict.
const maxLeft = 500

// listing cuts both lists to most entries and counts the rest.
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
	maxReplaced   = 10 // functions; each is listed once per test file
	maxListedPath = 300
)

// listed cuts a list to maxListed paths and appends a line that counts the rest. Applied to its own
// result it changes nothing, so that a verdict read from a note encodes to the line that was signed.
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

// gap replaces the middle of a long path.
const gap = "..."

// LeftWords lists the paths that were left out, each with its kind of change.
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

// With combines v, the verdict on the work alone, with the verdict of one more run of all commands
// on the whole claim (PROOF-1).
//
// Both must pass, and the weaker verdict holds. If only the whole claim passes, the verdict is NONE
// until the PM says whether the left-out paths are work.
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

// failing adds the second run's failures to the first's. The first may have failed only because the
// left-out paths were missing; the second shows what else is wrong.
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

// half returns the end of an output, so short that two fit into maxTail.
func half(tail string) string {
	return strings.ToValidUTF8(strings.TrimSpace(tail[max(0, len(tail)-maxTail/2+32):]), "?")
}
