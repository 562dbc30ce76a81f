// Git-ward-launch has the host admin's commands of `git ward` that need the fence. It is a
// program of its own, so that nothing else links what a sandbox needs.
package main

import (
	"git-ward/hooks/secret"
	"git-ward/internal/cli"
	"git-ward/sandbox/command"
)

func main() { cli.Main("git-ward", command.Main(secret.Redactor)) }
