package fence

import (
	"context"
	"errors"
	"fmt"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// connection is podman as one launch has it, or one verification that no launch
// serves: one engine for the agent's container, the judge's and the cache's, and the
// image, looked up once.
type connection struct {
	engine *podman.Engine
	image  string
	inside string // the program that runs first in every container, on the host
	goRoot string // the host's Go toolchain; "" for none
}

// connect opens podman, removes what an earlier launcher left under the same owner's
// name, and makes sure of the image that settings name.
func connect(ctx context.Context, owner string, at Podman, settings *config.Config) (*connection, error) {
	if at.Inside == "" {
		return nil, diag.Hint(fmt.Errorf("the program %s is not there", ForwarderProgram), "run scripts/build; it puts all of Ward's programs in bin/")
	}
	goRoot := make(chan string, 1)
	go func() { goRoot <- findGo() }()
	engine, err := podman.Connect(ctx, podman.Options{Owner: owner, Runtime: settings.Sandbox.Runtime, Storage: at.Storage, Scratch: at.own})
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
	image, err := findImage(ctx, engine, settings.Sandbox.Image)
	if err = errors.Join(<-swept, err); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return &connection{engine, image, at.Inside, <-goRoot}, nil
}

// connecting is a connection that is being opened beside other work.
type connecting struct {
	cancel context.CancelFunc
	done   chan struct{}
	conn   *connection
	err    error
}

// connectBeside opens podman while the caller goes on.
func connectBeside(ctx context.Context, owner string, at Podman, settings *config.Config) *connecting {
	ctx, cancel := context.WithCancel(ctx)
	c := &connecting{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.conn, c.err = connect(ctx, owner, at, settings)
	}()
	return c
}

// wait returns the connection once it is there.
func (c *connecting) wait() (*connection, error) {
	<-c.done
	return c.conn, c.err
}

// close ends the connection, with whatever containers are left, or the attempt.
func (c *connecting) close() error {
	c.cancel()
	<-c.done
	if c.conn == nil {
		return nil // who waited knows why
	}
	return c.conn.engine.Close()
}

// imageName is the image that settings name, which is the default one for "".
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

// findImage settles which image runs, and that it is there: launch pulls and
// builds nothing.
func findImage(ctx context.Context, engine *podman.Engine, set string) (string, error) {
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
