package local

import (
	"git-ward/internal/cgroup"
	"git-ward/internal/config"
)

// hostLimits returns [launch]'s limits, which are for one agent and one verdict. Each further one adds a
// quarter, for its pushes, its gateway and its container's watcher.
func hostLimits(settings *config.Config, agents, verdicts int) cgroup.Limits {
	l := settings.Launch
	more := int64(max(agents, 1) - 1 + max(verdicts, 1) - 1)
	return cgroup.Limits{Memory: l.Memory + more*(l.Memory/4), Processes: l.Processes + more*(l.Processes/4)}
}

// Bound moves this process, and so all that it starts from now on, into a cgroup with [launch]'s limits,
// named after the containers' owner: all that the host does for agents is bounded together. The
// containers have groups of their own. A machine without cgroups can still launch; the words, and
// doctor, say what is bounded.
func Bound(owner string, settings *config.Config, agents, verdicts int) (words string, leave func()) {
	g, err := cgroup.Join("ward-"+owner, hostLimits(settings, agents, verdicts))
	if err != nil {
		return "nothing bounds the host's own work together: " + err.Error(), func() {}
	}
	// If a process in the group is still ending, the next launch takes the group over.
	return g.String(), func() { g.Leave() }
}
