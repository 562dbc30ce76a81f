// Ward-inside runs in the fence in front of the payload. It is small and static,
// because it is bound into every container.
package main

import (
	"git-ward/internal/cli"
	"git-ward/sandbox/inside"
)

func main() { cli.Main("ward-inside", inside.Command) }
