package boot

// Commands are the argument lists that build, try and run a tree as the agent. An empty Build
// or Validate does nothing; an empty Run starts the agent that ships with Ward.
type Commands struct{ Build, Validate, Run []string }

// WardFiles are the paths that identify Ward's own source.
var WardFiles = []string{"scripts/build", "scripts/test", "agent/cmd/ward-agent/main.go", "bootstrap/cmd/ward-watcher/main.go"}

// OrWard are the commands of the settings, or Ward's own where the settings have none and the
// project's branch is Ward's source: all of WardFiles are there. The watcher, the gate and the
// judge all use this function, so that what runs is what had to pass.
func (c Commands) OrWard(isWard func() (bool, error)) (Commands, error) {
	if len(c.Build)+len(c.Validate)+len(c.Run) > 0 {
		return c, nil
	}
	if is, err := isWard(); err != nil || !is {
		return c, err
	}
	return Commands{[]string{WardFiles[0]}, []string{WardFiles[1]}, []string{"bin/ward-agent"}}, nil
}
