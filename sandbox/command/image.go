package command

import (
	"context"
	"flag"
	"fmt"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

const imageUsage = "image build [--from IMAGE] [--force]"

// buildImage is `git ward image build`: the container image, once (SBX-5).
func buildImage(ctx context.Context, env *cli.Env) error {
	o := image.Options{Progress: env.Stderr}
	_, err := env.Flags("image build", imageUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&o.Recipe.From, "from", "", "on top of a registry's `IMAGE`, in place of Debian packages")
		fs.BoolVar(&o.Force, "force", false, "build it again, with today's packages")
	})
	if err != nil {
		return err
	}
	engine, err := podman.Connect(ctx, podman.Options{Owner: "image", Runtime: podman.InstalledRuntime(), Storage: env.Getenv(storageVar)})
	if err != nil {
		return diag.Hint(err, "`git ward doctor` says what this machine lacks")
	}
	defer engine.Close()
	name, err := image.Build(ctx, engine, o)
	if err == nil {
		fmt.Fprintln(env.Stdout, name)
	}
	return err
}
