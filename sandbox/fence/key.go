package fence

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"golang.org/x/sys/unix"

	"git-ward/sandbox/podman"
)

// Key identifies what a prepared container was made from: its whole spec, the files behind its
// mounts, and what else its maker knows, such as the image's hash. If the key of a container
// made now would differ, the prepared one cannot be used.
func Key(s *podman.Spec, more ...string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic("a struct of texts cannot be written: " + err.Error())
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %q", text, more)
	for _, m := range s.Mounts {
		if m.Kind == podman.Bind {
			var st unix.Stat_t
			err := unix.Stat(m.Source, &st) // another directory of the same path is not the mounted one
			fmt.Fprintf(sum, " %d:%d %v", st.Dev, st.Ino, err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
