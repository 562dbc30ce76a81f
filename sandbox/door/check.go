package door

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
)

// Check says why no door can be opened on a repository, with the remedy; nil when one can. The
// repository must be bare and owned by the caller, with its hooks in place and a valid key,
// because no push may enter that no hook has judged (SBX-4).
func Check(ctx context.Context, bare string) error {
	if err := CheckOwner(bare); err != nil {
		return err
	}
	if err := hookdir.Check(ctx, bare); err != nil {
		return err
	}
	_, err := readKey(bare)
	return err
}

// CheckOwner refuses callers that do not own the repository, root included: root would create
// object directories that the owner cannot write to.
func CheckOwner(bare string) error {
	info, err := os.Stat(bare)
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == os.Geteuid() {
		return nil
	}
	name := "#" + strconv.Itoa(owner) // as sudo takes a numeric id
	if u, err := user.LookupId(strconv.Itoa(owner)); err == nil {
		name = u.Username
	}
	return diag.Hint(fmt.Errorf("%s belongs to user %s, not to you", bare, name),
		"run it as the owner: `sudo -u %s git ward launch --bare %s ...`", name, diag.Word(bare))
}

func initMends(bare string, err error) error {
	return diag.Hint(err, "`git ward init --bare %s` mends it", diag.Word(bare))
}
