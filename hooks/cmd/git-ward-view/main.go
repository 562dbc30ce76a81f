// Git-ward-view shows a repository to people: `git ward watch`, `git ward serve` and `git ward
// report --html`. It is a binary of its own, so that the libraries of terminal and server slow
// no other command's start.
package main

import (
	"git-ward/hooks/view/command"
	"git-ward/internal/cli"
)

func main() { cli.Main("git-ward", command.Main) }
