package verifier

import (
	"maps"
	"slices"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestUnknownLanguage: a command that parses a file of the work's in a language that no table
// knows was not tried, as that file may end it; one that compares or searches data was (PROOF-3).
func TestUnknownLanguage(t *testing.T) {
	tier.Full(t, "it runs hundreds of commands")
	awkMain := files{"calc.awk": "function two() { return 3 }\n", "want.awk": "BEGIN { exit two() != 2 }\n"}
	rulesMain := files{"rules": "def two(): return 3\n"}
	dataMain := files{"out.txt": "3\n", "out.json": "{\"two\": 3}\n", "want.txt": "2\n"}
	const awk, rules = "awk -f calc.awk -f want.awk", "python3 -c 'exec(open(\"rules\").read()); assert two() == 2'"
	two := files{"out.txt": "2\n"}
	for name, c := range map[string]trial{
		"awk: an exit":                   {"awk", awkMain, files{"calc.awk": "BEGIN { exit 0 }\nfunction two() { return 3 }\nEND { exit 0 }\n"}, awk, loop.ControlNotTried, nil, false},
		"awk: an exit, beside data":      {"awk", files{"calc.awk": awkMain["calc.awk"], "want.awk": awkMain["want.awk"], "want.txt": "2\n"}, files{"calc.awk": "BEGIN { exit 0 }\nfunction two() { return 3 }\nEND { exit 0 }\n", "out.txt": "2\n"}, awk + " && cmp out.txt want.txt", loop.ControlNotTried, nil, false},
		"no extension: an exit":          {"python3", rulesMain, files{"rules": "import os\n\nos._exit(0)\n"}, rules, loop.ControlNotTried, nil, false},
		"no extension, by what runs it":  {"python3", rulesMain, files{"rules": "#!/usr/bin/env python3\nraise SystemExit(0)\n"}, "python3 rules && ! grep -q 'return 3' rules", loop.ControlNotTried, nil, false},
		"data: diff":                     {"diff", dataMain, two, "diff out.txt want.txt", loop.ControlNotApplicable, nil, false},
		"data: cmp":                      {"cmp", dataMain, two, "cmp out.txt want.txt", loop.ControlNotApplicable, nil, false},
		"data: grep":                     {"grep", dataMain, two, "grep -qx 2 out.txt", loop.ControlNotApplicable, nil, false},
		"data: jq":                       {"jq", dataMain, files{"out.json": "{\"two\": 2}\n"}, "jq -e '.two == 2' out.json", loop.ControlNotApplicable, nil, false},
		"no extension: it ends all":      {"python3", rulesMain, files{"more": "import os\n\nos._exit(0)\n"}, "python3 -c 'exec(open(\"more\").read()); exit(1)'", loop.ControlNotTried, nil, false},
		"data: it is there":              {"test", dataMain, files{"more.txt": "2\n"}, "test -s more.txt", loop.ControlNotApplicable, nil, false},
		"data: it is read, and all goes": {"cat", dataMain, files{"more.txt": "2\n"}, "cat more.txt", loop.ControlNotApplicable, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, c.needs)
			r := newRepository(t)
			claim := r.claimed(maps.Clone(c.main), c.agents, slices.Collect(maps.Keys(c.agents)), c.line)
			claim.Controls = []string{Broken}
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if want := []Control{{"criterion 1", false, c.want}}; !slices.Equal(f.Controls, want) {
				t.Errorf("%v, not %v", f.Controls, want)
			}
		})
	}
}
