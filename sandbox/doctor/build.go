package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"git-ward/internal/diag"
	"git-ward/internal/shellword"
)

// builds are the lines by which projects build, by a file at their top, where another one that
// says more is not there.
var builds = []struct{ file, line, more string }{
	{file: "go.mod", line: "go build ./..."},
	{file: "Cargo.toml", line: "cargo build --offline"},
	{file: "package-lock.json", line: "npm ci && npm run build --if-present"},
	{file: "package.json", line: "npm run build --if-present", more: "package-lock.json"},
	{file: "pyproject.toml", line: "python3 -m compileall -q ."},
	{file: "pom.xml", line: "mvn -o -q package"},
	{file: "Makefile", line: "make"},
}

// Lines are the commands that build a project: the host's suite, or what its files at the top
// say.
func Lines(suite string, files []string) (list []string) {
	if suite != "" {
		return []string{suite}
	}
	for _, b := range builds {
		if slices.Contains(files, b.file) && (b.more == "" || !slices.Contains(files, b.more)) {
			list = append(list, b.line)
		}
	}
	return list
}

// Build has a project build where its workers work, and says what is missing there. run is
// `git ward verify --json` of one line, on the project's branch.
func Build(ctx context.Context, lines []string, run func(ctx context.Context, line string) ([]byte, error)) []Finding {
	e := &examiner{}
	if len(lines) == 0 {
		e.add("the project's build", Warning, "set [verify] suite to the command that builds and tests it", "is not known here: no file at its top says it")
	}
	for _, line := range lines {
		out, err := run(ctx, line)
		var said struct {
			Unfit   string
			Replays [][]struct {
				Line string
				Exit int
			}
			Missing *struct{ Tool string }
		}
		if err == nil {
			err = json.Unmarshal(out, &said)
		}
		exit := 0
		for _, runs := range said.Replays {
			for _, r := range runs {
				if r.Line == line && r.Exit != 0 {
					exit = r.Exit
				}
			}
		}
		line = diag.Clean(line)
		switch {
		case err != nil:
			e.add(line, Missing, "mend that, and look again", "cannot be tried: %s", diag.OneLine(err.Error()))
		case said.Unfit != "":
			e.add(line, Missing, "mend that, and look again", "cannot be tried: %s", diag.Clean(said.Unfit))
		case said.Missing != nil:
			e.add(line, Missing, "make an image that has it (docs/admin.md, Tools of other languages), and name it in [sandbox] image",
				"needs %s, which the image has not", diag.Clean(said.Missing.Tool))
		case exit != 0:
			e.add(line, Warning, fmt.Sprintf("see why: git ward verify --run %s REV", shellword.Quote(line)), "ends with exit %d in the workers' place, on the project as it is", exit)
		default:
			e.add(line, Fine, "", "builds in the workers' place")
		}
	}
	return e.found
}
