package command

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

const imageUsage = "image build [--with PACKAGES [--bare DIR]] [--pod] [--from IMAGE] [--force]"

// buildImage is `git ward image build`: it builds the container image once (SBX-5).
func buildImage(ctx context.Context, env *cli.Env) error {
	o := image.Options{Progress: env.Stderr}
	var pod bool
	var with, bare string
	_, err := env.Flags("image build", imageUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&o.Recipe.From, "from", "", "on top of a registry's `IMAGE`, or of that which a devcontainer.json names, in place of Debian packages")
		fs.StringVar(&with, "with", "", "the Debian `PACKAGES` that the project's commands need, with commas between them")
		fs.StringVar(&bare, "bare", "", "add --with to the packages of the image that the repository `DIR` uses")
		fs.BoolVar(&pod, "pod", false, "the image for pods of Kubernetes: Ward's programs and an ssh client are in it")
		fs.BoolVar(&o.Force, "force", false, "build it again, with today's packages")
	})
	if err != nil {
		return err
	}
	if strings.HasSuffix(o.Recipe.From, ".json") {
		if o.Recipe, err = devcontainer(env, o.Recipe.From); err != nil {
			return err
		}
	}
	o.Recipe.Packages = append(o.Recipe.Packages, image.List(with)...)
	engine, err := podman.Connect(ctx, podman.Options{Owner: "image", Runtime: podman.InstalledRuntime(), Storage: env.Getenv(storageVar), Builds: true})
	if err != nil {
		return diag.Hint(err, "`git ward doctor` says what this machine lacks")
	}
	defer engine.Close()
	if bare != "" {
		if err := addTo(ctx, env, engine, &o.Recipe, bare); err != nil {
			return err
		}
	}
	var name string
	if pod {
		name, err = buildPodImage(ctx, engine, o)
	} else {
		name, err = image.Build(ctx, engine, o)
	}
	if err != nil {
		return err
	}
	if !pod {
		compileStd(ctx, env, engine, name)
	}
	if with != "" {
		fmt.Fprintf(env.Stderr, "image: it has %s\n", o.Recipe.Has())
	}
	fmt.Fprintln(env.Stdout, name)
	return nil
}

// compileStd compiles the standard library of the image's Go. Without it, each agent does.
func compileStd(ctx context.Context, env *cli.Env, engine *podman.Engine, name string) {
	id, err := engine.ImageID(ctx, name)
	if err == nil {
		said := func(what string) { fmt.Fprintln(env.Stderr, "image: "+what) }
		err = fence.CompileStd(ctx, podmanOf(env), name, id, said, zerolog.Nop())
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(env.Stderr, "image: the standard library of its Go is not compiled, so each agent compiles it: %s\n", diag.Clean(err.Error()))
	}
}

// addTo adds to a recipe what the image of a repository has.
func addTo(ctx context.Context, env *cli.Env, engine *podman.Engine, r *image.Recipe, bare string) error {
	settings, err := config.Load(env.Path(bare))
	if err != nil || settings.Sandbox.Image == "" {
		return err
	}
	labels, err := engine.ImageLabels(ctx, settings.Sandbox.Image)
	if err != nil {
		return err
	}
	has, ok := image.Of(labels)
	if !ok {
		return diag.Hint(fmt.Errorf("the image %s does not say which packages it has", diag.Clean(settings.Sandbox.Image)), "without --bare, name all packages: --with PACKAGE,PACKAGE")
	}
	r.Packages = append(r.Packages, has.Packages...)
	r.From = cmp.Or(r.From, has.From)
	return nil
}

// podPrograms are the programs that run in pods. The fence and the gate are part of the
// launcher's program, and the agent calls git ward.
var podPrograms = []string{"git-ward", "git-ward-launch", "git-ward-mcp", fence.AgentProgram, fence.ForwarderProgram, fence.WatcherProgram}

func buildPodImage(ctx context.Context, store image.Store, o image.Options) (string, error) {
	paths, err := podProgramPaths()
	if err != nil {
		return "", err
	}
	return image.BuildPod(ctx, store, o, paths)
}

// maxDevcontainer bounds a devcontainer.json, in bytes.
const maxDevcontainer = 1 << 20

// devcontainer is the recipe that a devcontainer.json comes to.
func devcontainer(env *cli.Env, file string) (r image.Recipe, err error) {
	f, err := os.Open(env.Path(file))
	if err != nil {
		return r, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDevcontainer))
	if err != nil {
		return r, err
	}
	r, left, found := image.Devcontainer(file, data)
	if len(found) > 0 {
		diag.WriteText(env.Stdout, found)
		return r, cli.ErrFindings
	}
	for _, name := range left {
		fmt.Fprintf(env.Stderr, "git-ward: note: %s is left out: it wants the project's files, which no image has; [verify] cache brings dependencies\n", name)
	}
	return r, nil
}

// podImage is the image that pods run where [kube] image names none: what `git ward image
// build --pod` makes of the programs beside this one.
func podImage() (string, error) {
	paths, err := podProgramPaths()
	if err != nil {
		return "", err
	}
	return image.PodName(image.Recipe{}, paths)
}

func podProgramPaths() (paths []string, err error) {
	for _, name := range podPrograms {
		path, err := cli.Program(name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
