package fsck

import (
	"slices"
	"strings"
	"testing"

	"git-ward/internal/git"
	"git-ward/protocols/record"
)

const hello = `{"version":1,"kind":"report","time":"2026-11-22T09:00:00Z","directive":"D-1","status":"INFO","text":"hello"}` + "\n"

// says puts messages on the record, and how many are folded.
func (r *recorded) says(messages map[string]string, folded string) {
	r.t.Helper()
	r.push(record.Ref(r.id), r.commit("", messages))
	if folded == "" {
		return
	}
	blob, err := git.Open(r.Dir).WriteObject("blob", []byte(folded))
	if err != nil {
		r.t.Fatal(err)
	}
	r.move(record.FoldedRef(r.id), blob)
}

// TestMessages: what is wrong with what a record says for COMMS.md, or with the mark of how
// far that is folded, is found and named, and nothing else (MANY-2).
func TestMessages(t *testing.T) {
	mark := func(n string) string { return `{"version":1,"unit":"D-1.1","folded":` + n + "}\n" }
	two := map[string]string{"comms/0001.json": hello, "comms/0002.json": hello}
	for name, c := range map[string]struct {
		messages map[string]string
		folded   string
		want     []string
	}{
		"sound":                       {two, mark("2"), nil},
		"not folded yet":              {two, "", nil},
		"a hole":                      {map[string]string{"comms/0001.json": hello, "comms/0003.json": hello}, mark("1"), []string{"fsck/record: comms/0002.json is missing"}},
		"of another directive":        {map[string]string{"comms/0001.json": strings.Replace(hello, "D-1", "D-2", 1)}, "", []string{"fsck/record: comms/0001.json is no message of D-1"}},
		"not JSON":                    {map[string]string{"comms/0001.json": "hello\n"}, "", []string{"fsck/record: comms/0001.json is no message of D-1"}},
		"a mark ahead":                {two, mark("3"), []string{"fsck/folded: it says that 3 messages of D-1.1 are folded, and the record has 2"}},
		"a mark that cannot be read":  {two, mark("-1"), []string{"fsck/folded: refs/ward/folded/D-1.1 cannot be read"}},
		"a mark of another unit's":    {two, strings.Replace(mark("1"), "D-1.1", "D-2.1", 1), []string{"fsck/folded: refs/ward/folded/D-1.1 cannot be read"}},
		"a mark that is a whole book": {two, strings.Repeat(" ", 5000), []string{"fsck/folded: it cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded(t)
			r.says(c.messages, c.folded)
			found, _ := r.findings(Options{})
			match(t, "found", found, c.want)
			if again, _ := r.findings(Options{}); !slices.Equal(again, found) {
				t.Errorf("looking changed it: %q", again)
			}
		})
	}
}
