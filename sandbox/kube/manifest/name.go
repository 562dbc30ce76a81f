package manifest

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// maxName bounds a Job's name, which becomes a label of its pods.
const maxName = 63

// Name is the Job's of a directive's kth unit, ward-REPOSITORY-d-N-K. It is the same
// wherever it is made, so that of two who make it one is refused by the API server (MANY-3).
func Name(repository, directive string, k int) string {
	return fit("ward-", repository, fmt.Sprintf("-%s-%d", strings.ToLower(directive), k))
}

// VerifierName is the Job's that judges a commit, ward-REPOSITORY-v-COMMIT-WORD, once.
func VerifierName(repository, commit, word string) string {
	return fit("ward-", repository, strings.ToLower(fmt.Sprintf("-v-%.10s-%.6s", commit, word)))
}

// fit makes a valid Kubernetes name. If the repository's name must be changed, some digits of
// its hash keep names distinct.
func fit(before, repository, after string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, repository)
	plain = strings.Trim(plain, "-")
	room := maxName - len(before) - len(after)
	if plain == repository && len(plain) <= room && plain != "" {
		return before + plain + after
	}
	mark := fmt.Sprintf("%x", sha256.Sum256([]byte(repository)))[:6]
	if len(plain) > room-len(mark)-1 {
		plain = strings.TrimRight(plain[:room-len(mark)-1], "-")
	}
	if plain != "" {
		plain += "-"
	}
	return before + plain + mark + after
}
