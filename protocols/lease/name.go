package lease

import (
	"fmt"
	"strings"
)

// Prefix is where the leases are.
const Prefix = "refs/ward/lease/"

// Ref is the ref of a directive's lease: refs/ward/lease/D-3.
func Ref(directive string) string { return Prefix + directive }

// ParseRef reads the directive out of a lease's ref.
func ParseRef(ref string) (directive string, err error) {
	directive, ok := strings.CutPrefix(ref, Prefix)
	if !ok || !IsDirective(directive) {
		return "", fmt.Errorf("%.80q is not the ref of a lease, such as %sD-3", ref, Prefix)
	}
	return directive, nil
}

// Name is what the holder pushes as: "D-3.0123456789abcdef".
func (l Lease) Name() string { return l.Directive + "." + l.ID }

// ParseName reads such a name.
func ParseName(name string) (directive, id string, ok bool) {
	directive, id, _ = strings.Cut(name, ".")
	if !IsDirective(directive) || !isID(id) {
		return "", "", false
	}
	return directive, id, true
}

// Reserved reports whether a pusher's name is reserved for leases, because it has the form of
// one or looks like one. No other pusher may have such a name.
func Reserved(name string) bool {
	before, _, _ := strings.Cut(strings.ToUpper(name), ".")
	number, ok := strings.CutPrefix(before, "D-")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

func isID(s string) bool {
	return len(s) == 2*IDBytes && strings.Trim(s, "0123456789abcdef") == ""
}

// maxHolder is the longest name of a holder, in bytes.
const maxHolder = 128

// isHolder holds a holder's name to the form that internal/token has for all names of
// pushers: it is printed and compared as it is.
func isHolder(s string) bool {
	const first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	return s != "" && len(s) <= maxHolder && strings.ContainsRune(first, rune(s[0])) && strings.Trim(s, first+".@+-") == ""
}
