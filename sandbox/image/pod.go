package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/scratch"
)

// NearID is the user of a pod that alone holds the key to Ward's host.
const NearID = 1002

// podRepository is the name of all pod images; the tag is their content's hash.
const podRepository = "localhost/git-ward-pod"

// podPackages are additional packages for a pod's connection to the host.
var podPackages = []string{"openssh-client"}

// podLines make a pod image from another image, with the programs in bin. ssh and git need
// their user to have a name.
var podLines = []string{
	"USER 0:0",
	"COPY bin/ /ward/bin/",
	fmt.Sprintf(`RUN grep -q ^near: /etc/passwd || { printf 'near:x:%d:%[1]d::/nonexistent:/bin/sh\n' >>/etc/passwd && printf 'near:x:%[1]d:\n' >>/etc/group; }`, NearID),
}

// BuildPod makes an image for pods if it is not there, with these programs, files of the
// host's, in it: a node has none of them. It is named by its content, so that new programs
// are a new image, and pods that run keep theirs (MANY-3).
func BuildPod(ctx context.Context, store Store, o Options, programs []string) (name string, err error) {
	if name, err = PodName(o.Recipe, programs); err != nil {
		return "", err
	}
	o.Recipe = podBase(o.Recipe)
	base, err := Build(ctx, store, o)
	if err != nil {
		return "", err
	}
	return name, o.alone(ctx, store, name, func(work *scratch.Dir) error {
		bin := filepath.Join(work.Path, "bin")
		if err := os.Mkdir(bin, 0o755); err != nil {
			return err
		}
		for _, path := range programs {
			if err := copyProgram(filepath.Join(bin, filepath.Base(path)), path); err != nil {
				return err
			}
		}
		text := strings.Join(slices.Concat([]string{"FROM " + base}, podLines, changes), "\n") + "\n"
		containerfile := filepath.Join(work.Path, "Containerfile")
		if err := os.WriteFile(containerfile, []byte(text), 0o644); err != nil {
			return err
		}
		o.say("%d programs on top of %s", len(programs), base)
		return store.BuildImage(ctx, name, base, containerfile, o.Progress)
	})
}

// podBase is the recipe of a pod image's base.
func podBase(r Recipe) Recipe {
	r.Packages = append(slices.Clone(r.Packages), podPackages...)
	return r
}

// PodName is the name that BuildPod gives, from the content: what the image stands on, each
// program, how they go in.
func PodName(r Recipe, programs []string) (string, error) {
	base := podBase(r)
	if err := base.Complete(); err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", base.Name(), podLines, changes)
	for _, path := range slices.Sorted(slices.Values(programs)) {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		own := sha256.New()
		_, err = io.Copy(own, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
		fmt.Fprintf(h, " %q %x", filepath.Base(path), own.Sum(nil))
	}
	return fmt.Sprintf("%s:%x", podRepository, h.Sum(nil)[:8]), nil
}

func copyProgram(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, source)
	return errors.Join(err, f.Chmod(0o755), f.Close()) // whatever the umask is
}
