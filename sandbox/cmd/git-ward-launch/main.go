// Git-ward-launch is the host admin's commands of `git ward` that have to do with the
// fence, as a program of its own, so that what a sandbox needs is linked into nothing
// else.
package main

import (
	"git-ward/hooks/secret"
	"git-ward/internal/cli"
	"git-ward/sandbox/command"
)

func main() { cli.Main("git-ward", command.Main(secret.Redactor)) }
