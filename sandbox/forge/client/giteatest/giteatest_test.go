package giteatest_test

import (
	"testing"

	"git-ward/internal/tier"
	"git-ward/sandbox/forge/client/giteatest"
)

// TestOwn: two parts of one Gitea have nothing in common.
func TestOwn(t *testing.T) {
	tier.Full(t, "needs a Gitea")
	a, b := giteatest.New(t).User("ann"), giteatest.New(t).User("ann")
	a.Project("box")
	b.Project("box")
	var who struct{ Login string }
	a.Do("GET", "/user", nil, &who)
	if who.Login != a.Login || a.Login == b.Login || a.Token == b.Token {
		t.Errorf("%s is %s, and the other %s", a.Login, who.Login, b.Login)
	}
}
