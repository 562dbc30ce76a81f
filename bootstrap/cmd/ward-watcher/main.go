// Ward-watcher is the agent's supervisor: the first process in the fence after
// its forwarder, and another user than the agent.
package main

import (
	"git-ward/bootstrap/command"
	"git-ward/internal/cli"
)

func main() { cli.Main("ward-watcher", command.Watcher) }
