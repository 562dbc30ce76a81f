package hosting

import (
	"fmt"
	"os/exec"
	"os/user"
	"testing"

	"git-ward/internal/tier"
)

// Users of a test that was killed go with the next test's; those of one that runs stay.
func TestSweptAccounts(t *testing.T) {
	tier.Full(t, "it makes users of this machine, or starts a server of git")
	_, ours := newAccounts(t, "a")
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	left := fmt.Sprintf("wardtest%dbx", ended.Process.Pid)
	must(t, "useradd", "-M", "-N", left)
	t.Cleanup(func() { exec.Command("userdel", left).Run() })
	must(t, "groupadd", left+"g")
	t.Cleanup(func() { exec.Command("groupdel", left+"g").Run() })
	newAccounts(t, "b")
	if _, err := user.Lookup(left); err == nil {
		t.Error("the user of a test that has ended is there")
	}
	if _, err := user.LookupGroup(left + "g"); err == nil {
		t.Error("the group of a test that has ended is there")
	}
	if _, err := user.Lookup(ours["a"].name); err != nil {
		t.Error(err)
	}
}
