// Git-ward-launch is `git ward launch` as a program of its own, so that what a
// sandbox needs is linked into nothing else.
package main

import (
	"git-ward/internal/cli"
	"git-ward/sandbox"
)

func main() { cli.Main("git-ward", sandbox.Main) }
