package install

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/diag"
)

const passwd = `root:x:0:0:root:/root:/bin/sh
ada:x:1000:1000::/home/ada:/bin/sh
pat:x:1001:1001::/home/pat:/bin/sh
mo:x:1002:100::/home/mo:/bin/sh
eve:x:1003:100::/home/eve:/bin/sh
a line of somebody's
`

const group = `root:x:0:
users:x:100:
ada:x:1000:
pms:x:2000:ada,pat
all:x:2001:ada,pat,mo,eve
two:x:2002:pat,mo
`

// TestCommonGroup: the group of a repository that ada owns has everybody who is listed
// and nobody else, unless it is named.
func TestCommonGroup(t *testing.T) {
	for _, c := range []struct {
		names, groups string
		want          int
		err           string
	}{
		{"pat", "", 2000, ""},
		{"1001", "", 2000, ""},
		{"mo pat", "", 2002, ""},
		{"mo", "", 0, "there is no group of them and nobody else"},
		{"nobody", "", 0, "[identity] lists nobody, and no user of that name is in /etc/passwd"},
		{"", "all", 2001, ""},
		{"", "2001", 2001, ""},
		{"pat", "all", 2001, ""},
		{"mo", "pms", 0, "mo is on a list of [identity], but not in group 2000"},
		{"", "none", 0, `[identity] lists "@none", and no group of that name`},
		{"", "pms all", 0, "[identity] lists the groups pms and all; a repository has one"},
		{"", "pms 2000", 2000, ""},
	} {
		owner := &syscall.Stat_t{Uid: 1000, Gid: 1000}
		got, err := parseAccounts(passwd, group).common(strings.Fields(c.names), strings.Fields(c.groups), owner)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || got != c.want {
			t.Errorf("names %q, groups %q: %d, %v; want %d, %q", c.names, c.groups, got, err, c.want, c.err)
		}
		var hinted *diag.Hinted
		if err != nil && !errors.As(err, &hinted) {
			t.Errorf("names %q, groups %q: no remedy for %v", c.names, c.groups, err)
		}
	}
}

// TestBrokenAccounts: a line of NIS, or one that has no number where its number belongs,
// is nobody's; it is not taken for root's, whose number is 0.
func TestBrokenAccounts(t *testing.T) {
	a := parseAccounts("root:x:0:0:root:/root:/bin/sh\n+::::::\nodd:x:many:0::/:\n", "root:x:0:\n+:::\nodd:x::pat\n")
	if a.names[0] != "root" || len(a.uids) != 1 || len(a.groups) != 1 {
		t.Errorf("%+v", a)
	}
	if members := a.members[0]; len(members) != 1 || members[0] != "root" {
		t.Errorf("root's group has %q", members)
	}
}
