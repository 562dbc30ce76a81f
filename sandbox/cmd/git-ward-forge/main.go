// Git-ward-forge is `git ward forge` as a program of its own: it alone speaks to a forge, and
// what that needs is linked into nothing else.
package main

import (
	"git-ward/hooks/secret"
	"git-ward/internal/cli"
	"git-ward/sandbox/forge/command"
)

func main() { cli.Main("git-ward", cli.Part(command.Forge(secret.Redactor), command.Init)) }
