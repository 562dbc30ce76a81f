package fence

import (
	"git-ward/internal/cgroup"
	"git-ward/internal/config"
)

// boundHost puts this process, and with it all that it starts from now on, into a cgroup
// named for the containers' owner, with [launch]'s bounds: what the host does for an agent
// is bounded together. The containers have groups of their own. A machine without such
// groups is no reason not to launch; the words say how it is, and so does doctor.
func boundHost(owner string, settings *config.Config) (words string, leave func()) {
	g, err := cgroup.Join("ward-"+owner, cgroup.Limits{Memory: settings.Launch.Memory, Processes: settings.Launch.Processes})
	if err != nil {
		return "nothing bounds the host's own work together: " + err.Error(), func() {}
	}
	// A group in which something still ends is taken up by the next launch.
	return g.String(), func() { g.Leave() }
}
