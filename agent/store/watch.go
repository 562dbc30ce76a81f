package store

import (
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/uow"
)

// LookEvery is the interval between two looks whether a ref moved: a PM's push is seen within a
// second (AGT-6).
const LookEvery = 500 * time.Millisecond

// Watch watches the remote's control branch, the project's and the journals of units.
func (s *Store) Watch() *git.Watch {
	return git.Open(s.Bare).Watch(s.Control.Ref(), s.Control.ProjectRef(), uow.RefPrefix)
}
