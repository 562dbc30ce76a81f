package doctor

import (
	"fmt"
	"os"
	"strings"

	"git-ward/internal/cgroup"
)

// hostWork makes a cgroup as a launch does for its own processes, and removes it.
func (e *examiner) hostWork() {
	g, err := cgroup.Join(fmt.Sprintf("ward-doctor-%d", os.Getpid()), cgroup.Limits{})
	if err != nil {
		// Only systemd gives ordinary users cgroups; without it only root has them.
		mend := e.sudo("systemctl start user@" + fmt.Sprint(os.Getuid()))
		if _, none := os.Stat("/run/systemd/system"); none != nil {
			mend = "launch as root, or have root give this user a cgroup of version 2"
		}
		e.add("host's own work", Warning, mend, "[launch] memory and processes do not hold: %s",
			strings.Join(strings.Split(err.Error(), "\n"), "; "))
		return
	}
	how := g.String()
	if err := g.Leave(); err != nil {
		e.add("host's own work", Warning, "rmdir it", "a cgroup stays: %v", err)
		return
	}
	e.add("host's own work", Fine, "", "bounded by [launch], in a %s", how)
}
