package deciding

import (
	"path"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/go-json-experiment/json"
	"golang.org/x/mod/modfile"
)

// sameCommands reports whether a manifest that changed chooses the same commands,
// programs and settings as before: what it says of itself and which versions it
// wants is the work's, everything else decides. What cannot be read decides.
func sameCommands(name string, before, now []byte) bool {
	var read func([]byte) (any, bool)
	switch strings.ToLower(path.Base(name)) {
	case "package.json", "composer.json":
		read = readJSON
	case "pyproject.toml", "cargo.toml":
		read = readTOML
	case "go.mod":
		read = readGoMod
	default:
		if base := strings.ToLower(path.Base(name)); !strings.HasPrefix(base, "requirements") && !strings.HasPrefix(base, "constraints") {
			return false
		}
		read = readRequirements
	}
	a, okA := read(before)
	b, okB := read(now)
	return okA && okB && reflect.DeepEqual(a, b)
}

// describing are keys of manifests that only describe.
var describing = set(`name version description keywords author authors contributors maintainers license license-file readme repository homepage documentation bugs funding
	private files engines urls classifiers categories support requires-python rust-version`)

// packageLists are keys of manifests that list packages with versions.
var packageLists = set(`dependencies devDependencies peerDependencies peerDependenciesMeta optionalDependencies bundledDependencies dev-dependencies build-dependencies
	optional-dependencies dependency-groups require require-dev`)

func readJSON(data []byte) (any, bool) {
	var all map[string]any
	if json.Unmarshal(data, &all) != nil {
		return nil, false
	}
	return withoutDescription(all), true
}

func readTOML(data []byte) (any, bool) {
	var all map[string]any
	if toml.Unmarshal(data, &all) != nil {
		return nil, false
	}
	all = withoutDescription(all)
	for _, name := range []string{"project", "package"} {
		if table, ok := all[name].(map[string]any); ok {
			all[name] = withoutDescription(table)
		}
	}
	return all, true
}

// withoutDescription is a table without what does not decide.
func withoutDescription(table map[string]any) map[string]any {
	left := map[string]any{}
	for key, value := range table {
		if !describing[key] && !(packageLists[key] && plain(value)) {
			left[key] = value
		}
	}
	return left
}

// plain reports whether a list of packages says versions only, and not where else to
// take one from.
func plain(value any) bool {
	switch v := value.(type) {
	case string:
		for _, archive := range archives {
			if strings.HasSuffix(strings.ToLower(v), archive) {
				return false
			}
		}
		return !strings.ContainsAny(v, ":/@") || strings.HasPrefix(v, "@") && !strings.Contains(v, ":")
	case []any:
		for _, e := range v {
			if !plain(e) {
				return false
			}
		}
	case map[string]any:
		for key, e := range v {
			switch key {
			case "path", "git", "url", "file", "registry", "package", "workspace", "source", "branch", "rev", "include-group":
				return false
			}
			if !plain(e) {
				return false
			}
		}
	}
	return true
}

// archives are ends of a name by which a package manager takes a version for a file.
var archives = []string{".tgz", ".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".whl", ".zip"}

// readRequirements is what a list for pip says besides packages and their versions:
// options, files, places.
func readRequirements(data []byte) (any, bool) {
	lines := []string{}
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", " ")) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		line, hashes, _ := strings.Cut(line, " --hash=")
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '-' || strings.ContainsAny(line, ":/@\\") || strings.Contains(hashes, " --") && !onlyHashes(hashes) || !plain(line) {
			lines = append(lines, line)
		}
	}
	return lines, true
}

// onlyHashes reports whether what follows a requirement's first hash is hashes.
func onlyHashes(s string) bool {
	for _, word := range strings.Fields(s)[1:] {
		if !strings.HasPrefix(word, "--hash=") {
			return false
		}
	}
	return true
}

// readGoMod is all of a go.mod but the versions that it requires.
func readGoMod(data []byte) (any, bool) {
	f, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, false
	}
	f.SetRequire(nil)
	f.Retract = nil
	var lines []string
	for _, stmt := range f.Syntax.Stmt {
		switch s := stmt.(type) {
		case *modfile.Line:
			if len(s.Token) > 0 && s.Token[0] != "require" && s.Token[0] != "retract" {
				lines = append(lines, strings.Join(s.Token, " "))
			}
		case *modfile.LineBlock:
			for _, l := range s.Line {
				if s.Token[0] != "require" && s.Token[0] != "retract" {
					lines = append(lines, strings.Join(s.Token, " ")+" "+strings.Join(l.Token, " "))
				}
			}
		}
	}
	return lines, true
}
