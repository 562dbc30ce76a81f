package modeltest

import (
	"strings"
	"testing"
)

func TestTurns(t *testing.T) {
	got, err := Turns(`# the work
turn directive=D-1 on=plan iteration=0 role=Skeptic
write_file a b.md
| # <x>
|
\ no end
bash echo "two  words" | cat
bootstrap agent/D-1

turn
rollback v1
say That is all.
`)
	want := `{"directive":"D-1","on":"plan","iteration":0,"role":"Skeptic","calls":[{"name":"write_file","args":{"content":"# <x>\n\nno end","path":"a b.md"}},` +
		`{"name":"bash","args":{"command":"echo \"two  words\" | cat"}},{"name":"bootstrap","args":{"branch":"agent/D-1"}}]}
{"text":"That is all.","calls":[{"name":"rollback","args":{"ref":"v1"}}]}
`
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	for text, want := range map[string]string{
		"say x":                   "line 1: a turn begins",
		"turn\n\nrun x":           `line 3: "run" is no tool`,
		"turn\nbash x\n| y":       "line 3:",
		"turn on":                 "", // as empty as it is
		"turn when=x":             `line 1: a turn has no "when=x"`,
		"turn iteration=x\nsay a": "line 1:",
	} {
		if _, err := Turns(text); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
