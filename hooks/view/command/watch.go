package command

import (
	"context"
	"errors"

	"git-ward/internal/cli"
)

func watch(context.Context, *cli.Env) error { return errors.New("not built yet") }
