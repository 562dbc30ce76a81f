package local

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"git-ward/sandbox/fence"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier"
	"git-ward/sandbox/verifier/cache"
)

// ends returns the cache of commands' ends without the work. It is nil if an end may depend on something
// that can change unseen: a network, or a directory of the host's programs.
func (v *Verifier) ends(conn *fence.Connection, entry *cache.Entry, runner *verifier.Containers) *verifier.Ends {
	if v.Settings.Verify.Network != "none" || v.Settings.Sandbox.Programs != "" {
		return nil
	}
	return &verifier.Ends{File: filepath.Join(v.Bare, verifier.BeforePath), Of: func(ctx context.Context) (string, error) {
		image, err := conn.Engine.ImageID(ctx, conn.Image)
		program, buildErr := build("/proc/self/exe")
		spec := runner.Container
		spec.Mounts = nil
		for _, m := range runner.Container.Mounts {
			if m.Kind == podman.Bind {
				m.Source = "" // directories of this run's own
			}
			spec.Mounts = append(spec.Mounts, m)
		}
		dependencies := ""
		if entry != nil {
			dependencies = entry.Dir
		}
		text, jsonErr := json.Marshal(spec)
		runtime, _ := runner.Fence()
		return fmt.Sprintf("%q", []string{program, runtime, image, fence.Toolchain(conn.GoRoot), dependencies, runner.Setup, fmt.Sprint(runner.Limits), string(text)}),
			errors.Join(err, buildErr, jsonErr)
	}}
}

// build names the build of a program, as Go's linker does.
func build(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	note := f.Section(".note.go.buildid")
	if note == nil {
		return "", fmt.Errorf("%s does not say which build it is", path)
	}
	data, err := note.Data()
	return string(data), err
}
