package local

import (
	"fmt"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/growth"
)

// Repo returns a repository whose git children have the limits of GIT-6, because the agent made the
// objects of a claim.
func Repo(bare string, settings *config.Config) *git.Repo {
	repo := git.Open(bare)
	repo.Limits = settings.GitLimits()
	return repo
}

func (v *Verifier) room() error { return Room(v.Settings, v.Bare, v.Podman.Disk()) }

// Room returns an error if nothing may be built or judged now: the disk of a directory, such
// as the repository or podman's storage, has less free space than [limits] disk_free. A claim
// waits and is tried again.
func Room(s *config.Config, dirs ...string) error {
	want := s.Limits.DiskFree
	for _, dir := range dirs {
		if free, err := growth.Free(dir); err == nil && free < want {
			return diag.Hint(fmt.Errorf("the disk of %s has %d MiB left: nothing is judged or built", dir, free>>20),
				"make room: [limits] disk_free asks for %d MiB", want>>20)
		}
	}
	return nil
}
