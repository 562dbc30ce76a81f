// Git-ward-view is what shows a repository to people as it changes, `git ward watch` and
// `git ward serve`, and as pages, `git ward report --html`. It is a binary of its own, so
// that a terminal's and a server's libraries cost no other command its start.
package main

import (
	"git-ward/hooks/view/command"
	"git-ward/internal/cli"
)

func main() { cli.Main("git-ward", command.Main) }
