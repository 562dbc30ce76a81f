//go:build !remote || !containers_image_openpgp

package podman

import (
	"context"

	"git-ward/internal/cli"
)

func dial(context.Context, string) (api, error) {
	return nil, cli.Hint(ErrNoBindings, "`scripts/build` sets the tags: remote, containers_image_openpgp, exclude_graphdriver_btrfs")
}
