package doctor

import (
	"fmt"
	"os"

	"git-ward/internal/cgroup"
)

// hostWork makes a cgroup as a launch does for its own work, and removes it.
func (e *examiner) hostWork() {
	g, err := cgroup.Join(fmt.Sprintf("ward-doctor-%d", os.Getpid()), cgroup.Limits{})
	if err != nil {
		e.add("host's own work", Warning, e.sudo("systemctl start user@"+fmt.Sprint(os.Getuid())),
			"[launch] memory and processes do not hold: %v", err)
		return
	}
	how := g.String()
	if err := g.Leave(); err != nil {
		e.add("host's own work", Warning, "rmdir it", "a cgroup stays: %v", err)
		return
	}
	e.add("host's own work", Fine, "", "bounded by [launch], in a %s", how)
}
