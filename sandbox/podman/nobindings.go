//go:build !remote || !containers_image_openpgp

package podman

import (
	"context"

	"git-ward/internal/diag"
)

func dial(context.Context, string) (api, error) {
	return nil, diag.Hint(ErrNoBindings, "`scripts/build` sets the tags: remote, containers_image_openpgp, exclude_graphdriver_btrfs")
}
