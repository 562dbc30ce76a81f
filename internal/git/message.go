package git

import (
	"fmt"
	"strings"
)

// Message is a commit's whole message in UTF-8. Git is asked for that of a commit in another
// encoding, or of another form than git's.
func (r *Reader) Message(commit string) (string, error) {
	o, data, err := r.batch.ReadNow(commit, maxCommit)
	if err != nil {
		return "", err
	}
	if o.Kind != "commit" {
		return "", fmt.Errorf("%.40s is a %s, not a commit", commit, o.Kind)
	}
	if c, err := ParseCommit(data); err == nil && c.Encoding() == "" {
		return c.Message, nil
	}
	out, err := r.repo.Output(r.ctx, "log", "--max-count=1", "--no-show-signature", "--no-notes", "--format=%B", "--end-of-options", commit, "--")
	return strings.TrimSuffix(string(out), "\n"), err
}
