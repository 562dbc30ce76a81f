package boot

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// The refs that say which programs of the project's branch held. Only the host moves them.
const (
	// LastGood is the commit whose program held last.
	LastGood = "refs/ward/last-good"
	// Prefix begins all others.
	Prefix = "refs/ward/boot/"
	// BeforePrefix begins the refs of earlier programs, each different from the next: 1 is the
	// newest.
	BeforePrefix = "refs/ward/boot/before/"
	// Fallen is the commit of the project's branch whose program was replaced by an earlier
	// one. No watcher starts that program while the branch has it and an earlier one is known.
	Fallen = "refs/ward/boot/fallen"
	// PinFrom is the project's commit when an agent rolled back, and PinTo the target: while
	// the branch has PinFrom's program, every watcher starts PinTo's.
	PinFrom = "refs/ward/boot/pin/from"
	PinTo   = "refs/ward/boot/pin/to"
)

// PassedPrefix begins the refs of commits of branches whose programs passed a probation, one
// for each directive: what one tries takes nothing from another. Only the host moves them.
const PassedPrefix = "refs/ward/boot/passed/"

// PassedRef is the ref of a directive's worker; "" means a worker without a lease.
func PassedRef(directive string) string { return PassedPrefix + directiveOr(directive) }

func directiveOr(name string) string { return cmp.Or(name, "none") }

var (
	passedRef = pattern.New("^" + PassedPrefix + `(?:D-[1-9][0-9]{0,8}|none)$`)
	countRef  = pattern.New("^" + Prefix + `(?:deaths|idle|(?:trials|hops|ends)/(?:D-[1-9][0-9]{0,8}|none))/[1-6]$`)
)

// IsRef reports whether a ref is one of this package's.
func IsRef(ref string) bool {
	return slices.Contains(GoodRefs(), ref) || ref == Fallen || ref == PinFrom || ref == PinTo || passedRef.MatchString(ref) || countRef.MatchString(ref)
}

// Before is the preceding ref in a list. It is "" for the first, and for a ref on no list.
func Before(ref string) string {
	if i := slices.Index(GoodRefs(), ref); i > 0 {
		return GoodRef(i - 1)
	}
	place := len(ref) - 1
	if !countRef.MatchString(ref) || ref[place] == '1' {
		return ""
	}
	return ref[:place] + string(ref[place]-1)
}

// MaxGood bounds the list, LastGood included.
const MaxGood = 5

// GoodRef is the ref of a program of the list: 0 is LastGood.
func GoodRef(i int) string {
	if i == 0 {
		return LastGood
	}
	return BeforePrefix + strconv.Itoa(i)
}

// GoodRefs are all refs that the list can have.
func GoodRefs() (refs []string) {
	for i := range MaxGood {
		refs = append(refs, GoodRef(i))
	}
	return refs
}

// Passed begins the line on the watcher's standard output that tells the host which commit
// of a branch has a program that passed a probation; the commit's full id follows.
const Passed = Words + "passed "

// FellBack begins the line on the watcher's standard output that tells the host which
// commit of main gave way to an earlier program; the commit's full id follows.
const FellBack = Words + "fell back from "

// Again begins the line on the watcher's standard output that tells the host that all
// programs that held gave way, too: the commit that fell is tried again; its full id follows.
const Again = Words + "tries again "

// RolledBack begins the line on the watcher's standard output that tells the host of a rollback
// that has started: the full id of main's commit follows, a blank, and that of where it went.
const RolledBack = Words + "rolled back from "

// Unpinned begins the line on the watcher's standard output that tells the host that where a
// rollback went is left for main, because it does not hold, or because the agent went back to main;
// its full id follows.
const Unpinned = Words + "leaves the rollback to "

// Program names what of a commit can run, by the entries of its tree in the form of
// git ls-tree: equal names, the same program. A report on main does not make it another;
// in an adopted project, where reports go elsewhere (apart), every change does. No entry
// is kept: a tree may be as large as a push may make it.
func Program(entries iter.Seq2[string, error], apart bool) (string, error) {
	h := sha256.New()
	for e, err := range entries {
		if err != nil {
			return "", err
		}
		if _, name, _ := strings.Cut(e, "\t"); apart || IsCode(name) {
			fmt.Fprintf(h, "%s\x00", e)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:20]), nil
}
