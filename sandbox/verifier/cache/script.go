package cache

import (
	"strings"

	"git-ward/internal/shellword"
)

// Where things are inside a container. A module cache is read where it lies; what tools
// write into while they read is copied, or linked, into the container's own directory.
const (
	Inside = "/ward/cache" // a sealed entry, read-only
	Pack   = "/bot/pack"   // what a fill makes
	work   = "/bot"        // HOME

	// modules is one place in fills and verdicts: what Go compiled knows where its source
	// lay.
	modules = Pack + "/go/mod"
)

// Env is what leads the tools to an entry of some kinds. online: the container has a
// network, by which they may get what is not there.
func Env(kinds []Kind, online bool) map[string]string {
	env := map[string]string{}
	if online { // then tools write beside what is there
		env["WARD_ONLINE"] = "1"
	}
	for _, k := range kinds {
		switch k {
		case Go:
			env["GOCACHE"], env["GOMODCACHE"] = work+"/.cache/go-build", modules
		case Npm:
			env["npm_config_cache"], env["npm_config_audit"], env["npm_config_fund"] = work+"/.cache/npm", "false", "false"
			env[map[bool]string{true: "npm_config_prefer_offline", false: "npm_config_offline"}[online]] = "true"
		case Pip:
			env["PIP_FIND_LINKS"], env["PIP_DISABLE_PIP_VERSION_CHECK"] = Inside+"/pip", "1"
			if !online {
				env["PIP_NO_INDEX"] = "1"
			}
		}
	}
	return env
}

// Setup is the part of a command's shell script that lays the throw-away layer over the
// entry: links into it, in whose directory tools may make files of their own. $WARD_COLD
// leaves out what builds have left.
const Setup = `
mkdir -p "$HOME/.cache"
if [ -d ` + Inside + `/go/build ] && [ -z "$WARD_COLD" ]; then
	cp -rs ` + Inside + `/go/build "$GOCACHE"
	rm -f "$GOCACHE/trim.txt"
	date +%s > "$GOCACHE/trim.txt" # today's work is not to clean up
fi
if [ -d ` + Inside + `/go/mod ]; then
	mkdir -p ` + Pack + `/go
	if [ -n "$WARD_ONLINE" ]; then cp -r ` + Inside + `/go/mod ` + modules + `; else ln -s ` + Inside + `/go/mod ` + modules + `; fi
fi
[ ! -d ` + Inside + `/npm ] || cp -rs ` + Inside + `/npm "$npm_config_cache"
`

// FillEnv is the environment of a fill.
func FillEnv() map[string]string {
	return map[string]string{
		"GOCACHE": work + "/.cache/go-build", "GOMODCACHE": modules, "GOFLAGS": "-buildvcs=false -modcacherw", "GOTOOLCHAIN": "local", "GOWORK": "",
		"npm_config_cache": Pack + "/npm", "npm_config_ignore_scripts": "true", "npm_config_audit": "false", "npm_config_fund": "false", "npm_config_update_notifier": "false",
		"PIP_DISABLE_PIP_VERSION_CHECK": "1",
	}
}

// FillScript is a script for the shell, in a checkout of main, that fills Pack and prints
// it as a tar. What is fetched is what the lockfiles name, with its hash, and no code of
// the tree runs: Go compiles and links it, with the C compiler left out, and "true" runs
// in the place of each test; npm runs no script and is shown what packages say of
// themselves, not the settings beside it; pip takes wheels with a hash, and only lines that
// name one. A kind whose program the image lacks is left out: no verdict would use it.
func (l Locks) FillScript() string {
	var b strings.Builder
	b.WriteString("set -e\nexec 3>&1 >&2\nmkdir -p " + Pack + "\n")
	for _, kind := range l.Kinds() {
		b.WriteString("if command -v " + programs[kind] + " >/dev/null; then\n")
		for _, dir := range l.Dirs(kind) {
			b.WriteString("dir=" + shellword.Quote("./"+dir) + "\n" + fills[kind])
		}
		b.WriteString("else echo '" + programs[kind] + " is not in the image'; fi\n")
	}
	b.WriteString("[ ! -d \"$GOCACHE\" ] || { mkdir -p " + Pack + "/go; mv \"$GOCACHE\" " + Pack + "/go/build; }\ntar -C " + Pack + " -cf - . >&3\n")
	return b.String()
}

// programs are those that get a kind's dependencies.
var programs = map[Kind]string{Go: "go", Npm: "npm", Pip: "python3"}

// fills is how a directory's dependencies are got, by kind; $dir is the directory. A build says what
// it compiles, since it may take minutes, and one that fails leaves that: main need not be well. npm
// wants the package.json of each workspace; a project that tells it to overlook the conflicts of peers
// has a lockfile for that. Python finds modules where it starts, which is not to be the checkout; what
// there is no wheel of must not take the rest away.
var fills = map[Kind]string{
	Go: `if [ -d ` + Inside + `/go/mod ] && [ ! -d ` + Pack + `/go ]; then
	mkdir -p ` + Pack + `/go && cp -r ` + Inside + `/go/mod ` + Pack + `/go/mod
fi
if [ -d ` + Inside + `/go/build ] && [ ! -d "$GOCACHE" ]; then
	mkdir -p "$HOME/.cache" && cp -r ` + Inside + `/go/build "$GOCACHE"
fi
[ -d "$dir/vendor" ] || ( cd "$dir" && go mod download )
( cd "$dir" && { CGO_ENABLED=0 go build -v ./...; CGO_ENABLED=0 go test -exec true -count=1 ./...; } ) || echo "not all of $dir builds"
`,
	Npm: `rm -rf ` + work + `/npm && mkdir ` + work + `/npm
( cd "$dir" && find . -name node_modules -prune -o -type f \( -name package.json -o -name package-lock.json -o -name npm-shrinkwrap.json \) \
	-exec sh -c 'for f do mkdir -p "` + work + `/npm/${f%/*}" && cp "$f" "` + work + `/npm/$f" || exit; done' sh {} + )
ci() { ( cd ` + work + `/npm && npm ci --ignore-scripts --userconfig /dev/null "$@" ); }
ci || ci --legacy-peer-deps || exit 3
rm -rf ` + work + `/npm ` + Pack + `/npm/_logs
`,
	Pip: `get() { ( cd / && python3 -m pip download --quiet --no-deps --require-hashes --only-binary=:all: -d ` + Pack + `/pip -r "$1" </dev/null ); }
mkdir -p ` + Pack + `/pip
for f in "$dir"/requirements*.txt; do
	sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$f" | grep -E '^[A-Za-z0-9._-]+(\[[A-Za-z0-9._,-]*\])?==[^ ;]+.* --hash=' > ` + work + `/pip.txt || continue
	get ` + work + `/pip.txt && continue
	some=
	while IFS= read -r line; do
		printf '%s\n' "$line" > ` + work + `/one.txt
		if get ` + work + `/one.txt; then some=yes; else echo "not in the cache: ${line%% *}"; fi
	done < ` + work + `/pip.txt
	[ -n "$some" ] || exit 3
done
rmdir ` + Pack + `/pip 2>/dev/null || true
`,
}
