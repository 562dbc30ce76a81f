package fence

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"golang.org/x/sys/unix"

	"git-ward/sandbox/podman"
)

// Key tells a container that was made ahead from one that would be made now: all of its spec, what
// lies where its mounts name it, and what else its maker knows of it, such as the image's own hash.
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
			err := unix.Stat(m.Source, &st) // another directory of the same name is not what is mounted
			fmt.Fprintf(sum, " %d:%d %v", st.Dev, st.Ino, err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
