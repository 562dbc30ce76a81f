package fence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/scratch"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier/cache"
)

// Podman says where containers and sockets are made.
type Podman struct {
	Storage string // podman's storage, for tests; empty: the user's own
	Inside  string // ward-inside, the first process of every container
	Scratch string // where to make a directory for sockets; empty: the temporary directory

	Own *scratch.Dir // the launch's own directory, which is Scratch then; nil: none
}

// Disk is podman's storage directory, by default that of containers-storage.conf(5).
func (p Podman) Disk() string {
	const below = "containers/storage"
	if p.Storage != "" || os.Geteuid() == 0 {
		return cmp.Or(p.Storage, filepath.Join("/var/lib", below))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "/"
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local/share")), below)
}

// Connection is podman for one launch, or for one verification outside a launch: one engine
// for the agent's, the judge's and the cache's containers, and the image, looked up once.
type Connection struct {
	Engine *podman.Engine
	Image  string
	GoRoot string // the host's Go toolchain; "" for none
	inside string // path of ward-inside on the host

	std    *cache.Store // of compiled standard libraries; nil: none
	stdKey string       // in it, for the image
}

// OwnerOf is the owner's name of a repository's containers, stable across restarts of its
// launcher. A copy of the repository gets another name, or its launcher would end the
// original's containers.
func OwnerOf(bare string) string {
	var st unix.Stat_t
	unix.Stat(bare, &st) // a missing directory has no containers
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", bare, st.Ino))
	return fmt.Sprintf("%x", sum[:8])
}

// Connect opens podman, removes what an earlier launcher left under the same owner's
// name, and makes sure of the image that settings name.
func Connect(ctx context.Context, owner string, at Podman, settings *config.Config) (*Connection, error) {
	if at.Inside == "" {
		return nil, diag.Hint(fmt.Errorf("the program %s is not there", ForwarderProgram), "run scripts/build; it puts all of Ward's programs in bin/")
	}
	goRoot := make(chan string, 1)
	go func() { goRoot <- findGo() }()
	engine, err := podman.Connect(ctx, podman.Options{Owner: owner, Runtime: settings.Sandbox.Runtime, Storage: at.Storage, Scratch: at.Own})
	if _, ok := errors.AsType[*diag.Hinted](err); err != nil && !ok {
		err = diag.Hint(err, "`git ward doctor` says what this machine lacks")
	}
	if err != nil {
		return nil, err
	}
	swept := make(chan error, 1)
	go func() {
		_, err := engine.Sweep(ctx)
		swept <- err
	}()
	image, err := FindImage(ctx, engine, settings.Sandbox.Image)
	var id string
	if err == nil {
		id, err = engine.ImageID(ctx, image)
	}
	if err = errors.Join(<-swept, err); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	c := &Connection{Engine: engine, Image: image, GoRoot: <-goRoot, inside: at.Inside, std: at.std()}
	c.stdKey = stdKey(id, c.GoRoot)
	return c, nil
}

// imageName is the image of the settings, or the default one for "".
func imageName(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	var recipe image.Recipe
	if err := recipe.Complete(); err != nil {
		return "", err
	}
	return recipe.Name(), nil
}

// FindImage decides which image runs, and checks that it exists: launch neither pulls nor
// builds.
func FindImage(ctx context.Context, engine *podman.Engine, set string) (string, error) {
	name, err := imageName(set)
	if err != nil {
		return "", err
	}
	there, err := engine.HasImage(ctx, name)
	if err == nil && !there {
		how := "`git ward image build` makes it, once"
		if set != "" {
			how = "[sandbox] image or [verify] second_image names it: `podman build -t " + set + " ...` makes it, as the same user"
		}
		err = diag.Hint(fmt.Errorf("the image %s is not there", name), "%s", how)
	}
	return name, err
}
