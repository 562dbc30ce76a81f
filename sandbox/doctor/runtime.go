package doctor

import (
	"context"
	"errors"
	"os"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/sandbox/podman"
)

// Runtime checks the OCI runtime that the settings name. No other is needed, not even runc.
func Runtime(ctx context.Context, c *config.Config) []Finding {
	e := &examiner{root: os.Geteuid() == 0}
	name := c.Sandbox.Runtime
	path, err := podman.FindRuntime(name)
	if err == nil {
		err = podman.RuntimeTooOld(ctx, name, path)
	}
	if err != nil {
		mend := `set [sandbox] runtime = "` + podman.DefaultRuntime + `"`
		if hinted, ok := errors.AsType[*diag.Hinted](err); ok {
			mend = hinted.Hint
		}
		if strings.HasPrefix(mend, "apt-get ") {
			mend = e.sudo(mend)
		}
		e.add("[sandbox] runtime", Missing, mend, "%v", err)
		return e.found
	}
	_, noHybrid := os.Stat("/sys/fs/cgroup/unified/cgroup.controllers")
	switch {
	case name == "crun" && noHybrid == nil:
		e.add("[sandbox] runtime", Missing, "boot with systemd.unified_cgroup_hierarchy=1, or set it to runc",
			"%s: crun does not start a container where cgroups are of version 1 and 2 at once, as here", path)
	case name != podman.DefaultRuntime:
		e.add("[sandbox] runtime", Fine, "", "%s: the fence is tried in each container before anything else runs in it", path)
	default:
		e.add("[sandbox] runtime", Fine, "", "%s", path)
	}
	return e.found
}
