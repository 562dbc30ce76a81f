package git

import "strings"

// Trailers returns the values of a trailer in the last paragraph of a commit message
// (git-interpret-trailers(1)). The key's case does not matter.
func Trailers(message, key string) []string {
	message = strings.TrimRight(message, " \n")
	if i := strings.LastIndex(message, "\n\n"); i >= 0 {
		message = message[i+2:]
	} else {
		return nil // the only paragraph is the subject
	}
	var values []string
	for line := range strings.SplitSeq(message, "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(k), key) {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

// IsID reports whether s is a full SHA-1 object id in lower-case hex.
func IsID(s string) bool {
	if len(s) != 40 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
