package config

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// PureTools are the tools of CALL that start no program (UDC-3).
var PureTools = []string{"print", "mul", "div", "mod", "min", "max"}

// toolName is what a plan can write behind CALL.
var toolName = pattern.New(`^[a-z][a-z0-9_.-]{0,63}$`)

// writablePlaces are where the agent can write inside the fence, or is shown what others
// wrote.
var writablePlaces = []string{"/bot", "/tmp", "/proc", "/dev", "/mnt", "/run", "/var/tmp"}

// checkTools holds the command lines that CALL may reach to their form, and what calls
// names to what there is.
func (c *Config) checkTools() error {
	for _, name := range slices.Sorted(maps.Keys(c.VM.Tools)) {
		if why := badTool(name, c.VM.Tools[name]); why != "" {
			return fmt.Errorf("vm.tools has %q, %s", name, why)
		}
	}
	for _, name := range c.VM.Calls {
		if _, ok := c.VM.Tools[name]; !ok && !slices.Contains(PureTools, name) {
			return fmt.Errorf("vm.calls names %q, not one of %s, and none of vm.tools", name, strings.Join(PureTools, ", "))
		}
	}
	return nil
}

// CallTools are what CALL can reach: the machine's own tools, and command lines by name.
func (c *Config) CallTools() (own []string, outside map[string][]string) {
	outside = map[string][]string{}
	for _, name := range c.VM.Calls {
		if argv, ok := c.VM.Tools[name]; ok {
			outside[name] = argv
		} else {
			own = append(own, name)
		}
	}
	return own, outside
}

// badTool says what is wrong with a command line, "" for nothing.
func badTool(name string, argv []string) string {
	switch {
	case slices.Contains(PureTools, name) || name == "plan":
		return "which is a tool of the machine's own"
	case !toolName.MatchString(name):
		return "which is no name: small letters, digits and _ . - behind a letter"
	case len(argv) == 0 || argv[0] == "" || !path.IsAbs(argv[0]) || path.Clean(argv[0]) != argv[0]:
		return "whose program is not an absolute path, such as /usr/bin/wc"
	case slices.ContainsFunc(writablePlaces, func(dir string) bool { return argv[0] == dir || strings.HasPrefix(argv[0], dir+"/") }):
		return "whose program lies where the agent writes: " + argv[0]
	case slices.ContainsFunc(argv, func(word string) bool { return strings.ContainsRune(word, 0) }):
		return "with NUL in it"
	}
	return ""
}
