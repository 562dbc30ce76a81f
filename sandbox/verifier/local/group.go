package local

import (
	"git-ward/internal/cgroup"
	"git-ward/internal/config"
)

// hostLimits are [launch]'s bounds, which are for one agent and one verdict at a time; each
// further one brings pushes, a gateway and a container's watcher, and adds a quarter.
func hostLimits(settings *config.Config, agents, verdicts int) cgroup.Limits {
	l := settings.Launch
	more := int64(max(agents, 1) - 1 + max(verdicts, 1) - 1)
	return cgroup.Limits{Memory: l.Memory + more*(l.Memory/4), Processes: l.Processes + more*(l.Processes/4)}
}

// Bound puts this process, and with it all that it starts from now on, into a cgroup
// named for the containers' owner, with [launch]'s bounds: what the host does for an agent
// is bounded together. The containers have groups of their own. A machine without such
// groups is no reason not to launch; the words say how it is, and so does doctor.
func Bound(owner string, settings *config.Config, agents, verdicts int) (words string, leave func()) {
	g, err := cgroup.Join("ward-"+owner, hostLimits(settings, agents, verdicts))
	if err != nil {
		return "nothing bounds the host's own work together: " + err.Error(), func() {}
	}
	// A group in which something still ends is taken up by the next launch.
	return g.String(), func() { g.Leave() }
}
