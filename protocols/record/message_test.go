package record

import (
	"testing"

	"git-ward/protocols/uow"
)

func TestMessagePaths(t *testing.T) {
	for _, n := range []int{1, 42, MaxMessages} {
		if got := ParseMessagePath(MessagePath(n)); got != n || !Listed("D-1", MessagePath(n)) {
			t.Errorf("%d is %s is %d", n, MessagePath(n), got)
		}
	}
	for _, bad := range []string{"", "comms", "comms/", "comms/0000.json", "comms/1.json", "comms/00001.json", "comms/10000.json", "comms/+001.json",
		"comms/0001.JSON", "comms/0001.json/x", "comms/x/0001.json", "x/0001.json"} {
		if n := ParseMessagePath(bad); n != 0 || Listed("D-1", bad) {
			t.Errorf("%q is message %d", bad, n)
		}
	}
}

func TestFolded(t *testing.T) {
	id := uow.ID{Directive: "D-12", K: 3}
	if got, err := ParseFoldedRef(FoldedRef(id)); got != id || err != nil {
		t.Error(got, err)
	}
	if n, err := ParseFolded(id, FormatFolded(id, 7)); n != 7 || err != nil {
		t.Error(n, err)
	}
	for _, bad := range []string{"", "{}", `{"version":1,"unit":"D-12.3","folded":7}`, `{"version":2,"unit":"D-12.3","folded":7}` + "\n",
		`{"version":1,"unit":"D-12.4","folded":7}` + "\n", `{"version":1,"unit":"D-12.3","folded":-1}` + "\n", `{"version":1,"unit":"D-12.3","folded":7,"x":1}` + "\n"} {
		if n, err := ParseFolded(id, []byte(bad)); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}
