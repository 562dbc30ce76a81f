package command

import (
	"context"
	"flag"
	"fmt"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

const imageUsage = "image build [--pod] [--from IMAGE] [--force]"

// buildImage is `git ward image build`: it builds the container image once (SBX-5).
func buildImage(ctx context.Context, env *cli.Env) error {
	o := image.Options{Progress: env.Stderr}
	var pod bool
	_, err := env.Flags("image build", imageUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&o.Recipe.From, "from", "", "on top of a registry's `IMAGE`, in place of Debian packages")
		fs.BoolVar(&pod, "pod", false, "the image for pods of Kubernetes: Ward's programs and an ssh client are in it")
		fs.BoolVar(&o.Force, "force", false, "build it again, with today's packages")
	})
	if err != nil {
		return err
	}
	engine, err := podman.Connect(ctx, podman.Options{Owner: "image", Runtime: podman.InstalledRuntime(), Storage: env.Getenv(storageVar), Builds: true})
	if err != nil {
		return diag.Hint(err, "`git ward doctor` says what this machine lacks")
	}
	defer engine.Close()
	var name string
	if pod {
		name, err = buildPodImage(ctx, engine, o)
	} else {
		name, err = image.Build(ctx, engine, o)
	}
	if err == nil {
		fmt.Fprintln(env.Stdout, name)
	}
	return err
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

// podImage is the image for pods where [kube] image names none: `git ward image build --pod`
// makes it from the programs in this one's directory.
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
