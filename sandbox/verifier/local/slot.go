package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/sandbox/fence"
)

// slotsPath is the file, below the repository, in which each verification outside a launcher locks one
// byte.
const slotsPath = "ward/verify.lock"

// maxSlots bounds how many verifications run at once.
const maxSlots = 64

// ownerOf names the containers of a verification in a slot. The name has the file's inode: if somebody
// replaced the file, two verifications may have one number, and neither may mistake the other's
// containers for those of a killed one.
func ownerOf(slot *os.File, number int, bare string) string {
	var st unix.Stat_t
	unix.Fstat(int(slot.Fd()), &st) // an open file has one
	return fmt.Sprintf("verify%d-%x-%s", number, st.Ino, fence.OwnerOf(bare))
}

// takeSlot gives a verification a number that no other one has while the file is open. The kernel frees
// it when the process ends. The next verification with that number removes what a killed one, whose
// reaper was killed, too, has left, unless the file was replaced: then nobody can tell a killed one from
// a running one.
func takeSlot(bare string) (f *os.File, number int, err error) {
	f, err = os.OpenFile(filepath.Join(bare, slotsPath), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, err
	}
	for number = range maxSlots {
		// The lock belongs to the open file and not to the process, which may run two verifications.
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(number), Len: 1}
		err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
		if err == nil {
			return f, number, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			break
		}
		err = diag.Hint(fmt.Errorf("%d verifications run on %s", maxSlots, bare), "wait until one has ended")
	}
	return nil, 0, errors.Join(err, f.Close())
}
