package broken

import (
	"maps"
	"strings"
	"testing"
)

// TestLoaded: one process that loads a program and was not started for one is enough.
func TestLoaded(t *testing.T) {
	const own = "W:load:0:7:main\nW:load:1:7:part\n"
	for output, want := range map[string]bool{own: true, own + "x W:load:2:8:main": true, own + "W:load:1:8:part\n": false, "W:load:1:7:part\n": false, "": false, "W:load:x:7:main\nW:load:1:main\nW:1:end": false} {
		if _, _, outside := Loaded("W", output); outside != want {
			t.Errorf("%q: %v", output, outside)
		}
	}
	loaded, started, _ := Loaded("W", own)
	if !maps.Equal(started, map[int]bool{0: true}) || !maps.Equal(loaded, map[int]bool{0: true, 1: true}) {
		t.Error(loaded, started)
	}
}

// TestLoads: what has to stand first in a text stays there.
func TestLoads(t *testing.T) {
	for text, first := range map[string]string{
		"cli.py:#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\"\"\"It does.\n\nAll.\"\"\"\nfrom __future__ import annotations\n\nimport os\n": "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\"\"\"It does.\n\nAll.\"\"\"\nfrom __future__ import annotations\n\ndef ward_loads",
		"cli.py:import os\n":                          "def ward_loads",
		"cli.js:#!/usr/bin/env node\n'use strict';\n": "#!/usr/bin/env node\n'use strict';((at)",
		"cli.sh:#!/bin/sh\nset -e\n":                  "#!/bin/sh\ncase",
		"main.go:// It does.\npackage main // x\n":    "// It does.\npackage main; import",
	} {
		name, text, _ := strings.Cut(text, ":")
		if changed, ok := Loads(name, text, Loading{Word: "W"}); !ok || !strings.HasPrefix(changed, first) {
			t.Errorf("%s\n%s", name, changed)
		}
	}
	if _, ok := Loads("calc.awk", "", Loading{}); ok || MayLoad("calc.awk") || MayStart("calc.awk", "") {
		t.Error("awk")
	}
}
