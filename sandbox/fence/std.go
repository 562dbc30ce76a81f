package fence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier/cache"
)

// InsideStd is where an agent's container reads the compiled standard library of its Go.
const InsideStd = "/ward/std"

const (
	// stdSize is how many bytes the compiled libraries of all images have together; one has tens of MB.
	stdSize = 1 << 30
	// stdTime ends a container that compiles one: it takes half a minute of processor time.
	stdTime = 20 * time.Minute
	// stdOwner is the owner of such containers, of which there is one at a time.
	stdOwner = "std"
	// stdOutput is how much of a failure's output is told, in bytes.
	stdOutput = 2000
)

// std is the store of compiled libraries, beside the images: what removes podman's storage removes it.
func (p Podman) std() *cache.Store {
	return &cache.Store{Dir: filepath.Join(p.Disk(), "ward-std"), Size: stdSize}
}

// stdKey names all that decides a compiled library: the script, an image, by its id, and the host's
// toolchain in it.
func stdKey(imageID, goRoot string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q", stdScript, imageID, Toolchain(goRoot))))
}

// Toolchain names the Go toolchain that is bound into containers, by what its file VERSION says.
func Toolchain(goRoot string) string {
	data, err := os.ReadFile(filepath.Join(goRoot, "VERSION"))
	if err != nil {
		return "none"
	}
	return string(data)
}

// stdScript compiles what each test needs, and prints Go's cache as a tar. `go test` also vets. All of the
// standard library would take three times as long, and most projects use little of the rest. In an image
// without Go the tar is empty.
const stdScript = `set -e
exec 3>&1 >&2
mkdir -p /bot/pack /bot/m
if command -v go; then
	cd /bot/m
	echo 'module m' >go.mod
	printf 'package m\nimport "testing"\nfunc TestM(*testing.T) {}\n' >m_test.go
	GOCACHE=/bot/pack/go go test -exec true
fi
tar -C /bot/pack -cf - . >&3
`

// CompileStd compiles the standard library's part of the Go in an image for agents' containers, unless
// that is done. It does so in a container of that image without a network and without any repository, so
// that what all agents read is made by nobody's work. said is told what begins: that, or waiting for
// another process that does it.
func CompileStd(ctx context.Context, at Podman, name, imageID string, said func(string), log zerolog.Logger) error {
	err := compileStd(ctx, at, name, imageID, 0, said, log)
	if errors.Is(err, flock.ErrHeld) {
		said("another build compiles the standard library of a Go, and this one waits for it")
		err = compileStd(ctx, at, name, imageID, stdTime, said, log)
	}
	return err
}

func compileStd(ctx context.Context, at Podman, name, imageID string, patience time.Duration, said func(string), log zerolog.Logger) error {
	key := stdKey(imageID, findGo())
	return at.std().Fill(ctx, key, imageID, []cache.Kind{cache.Go}, patience, func(_ *cache.Entry, w io.Writer) (err error) {
		said("compiling the standard library of its Go, for all agents")
		settings := config.Default()
		settings.Sandbox.Image, settings.Sandbox.Programs = name, ""
		conn, err := Connect(ctx, stdOwner, at, settings)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Engine.Close()) }()
		f, err := conn.New(conn.Engine.TempDir(), firewall.Policy{Mode: firewall.Allowlist}, log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		var said bytes.Buffer
		if err := f.runStd(ctx, settings, w, &said); err != nil {
			text := said.Bytes()
			return fmt.Errorf("%w: %s", err, diag.Clean(string(text[max(0, len(text)-stdOutput):])))
		}
		return nil
	})
}

// runStd runs the script in a container.
func (f *Fence) runStd(ctx context.Context, settings *config.Config, stdout, stderr io.Writer) error {
	s := f.Container(f.cover, settings, image.AgentID)
	s.Mounts = slices.DeleteFunc(s.Mounts, func(m podman.Mount) bool { return strings.HasPrefix(m.Target, InsideBare) })
	s.Mounts = append(s.Mounts, podman.Mount{Kind: podman.Tmpfs, Target: InsideState, Size: stdSize})
	s.Command, s.Timeout = []string{"sh", "-c", stdScript}, stdTime
	c, err := f.Engine.Create(ctx, s)
	if err != nil {
		return err
	}
	p, err := f.Prepare(ctx, c, podman.Streams{Stdout: stdout, Stderr: stderr})
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// holdStd finds the compiled library for the connection's image, which stays until the fence is closed.
// Without one, agents compile it.
func (c *Connection) holdStd() *cache.Entry {
	if c.std == nil {
		return nil
	}
	e, err := c.std.Newest(c.stdKey, "")
	if err != nil || e == nil {
		return nil
	}
	if len(e.Seal.Kinds) == 0 { // the image has no Go
		e.Close()
		return nil
	}
	return e
}

// Std returns the mount of the compiled standard library, at InsideStd; not ok, there is none.
func (f *Fence) Std() (m podman.Mount, ok bool) {
	if f.std == nil {
		return m, false
	}
	return ReadOnly(filepath.Join(f.std.Dir, string(cache.Go)), InsideStd), true
}
