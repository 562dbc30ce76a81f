package uow

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// RefPrefix is the ref prefix of journals.
const RefPrefix = "refs/ward/uow/"

// TakePrefix is the prefix of refs, followed by a unit's id, to which the PM pushes the merge that would
// take the unit's work, so that the host judges it first (PROOF-7).
const TakePrefix = "refs/ward/take/"

// File is the one file in each commit of a journal.
const File = "uow.json"

// ID names a unit: the K-th of a directive.
type ID struct {
	Directive string // "D-1"
	K         int    // from 1
}

// String is the unit's id as people write it: "D-1.2".
func (id ID) String() string { return id.Directive + "." + strconv.Itoa(id.K) }

// Ref is the journal's ref.
func (id ID) Ref() string { return RefPrefix + id.String() }

// ParseID reads "D-1.2": digits without leading zeros, at most nine each.
func ParseID(s string) (ID, error) {
	directive, k, ok := strings.Cut(s, ".")
	number, isD := strings.CutPrefix(directive, "D-")
	n := parseNumber(k)
	if !ok || !isD || n == 0 || parseNumber(number) == 0 {
		return ID{}, fmt.Errorf("%.40q is not a unit's id, such as D-1.2", s)
	}
	return ID{directive, n}, nil
}

// ParseRef reads a journal's ref.
func ParseRef(ref string) (ID, error) {
	name, ok := strings.CutPrefix(ref, RefPrefix)
	if !ok {
		return ID{}, fmt.Errorf("%.80q is not below %s", ref, RefPrefix)
	}
	return ParseID(name)
}

func parseNumber(s string) int {
	if s == "" || len(s) > 9 || s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, _ := strconv.Atoi(s)
	return n
}

// Compare orders units by directive number, then by their own.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(len(id.Directive), len(other.Directive)), strings.Compare(id.Directive, other.Directive), cmp.Compare(id.K, other.K))
}
