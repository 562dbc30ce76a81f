package filename

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

func TestOneKey(t *testing.T) {
	for _, same := range [][]string{
		{"README.md", "readme.MD", "Readme.md.", "README.MD ", "readme.md . .", "readme.md::$DATA", "README.md:x"},
		{"é", "e\u0301", "É", "E\u0301"},
		{"straße", "STRASSE", "STRAẞE"},
		{"ﬁle", "FILE", "file"},
		{"Kelvin", "\u212aelvin"}, {"ſpec", "spec", "SPEC"},
		{"config", "conf\u0131g"},
		{".git", ".g\u200cit", "\ufeff.GIT", ".gi\u00adt", ".g\u034fit", ".git\u180b", ".g\U000e0020it"},
		{"ᾳ", "αι", "ΑΙ"},
		{"ά", "ά"},
		{"...", " ", ". ", "..", ""},
		{"한", "\u1112\u1161\u11ab"},
	} {
		for _, name := range same {
			if Key(name) != Key(same[0]) {
				t.Errorf("Key(%+q) = %+q, Key(%+q) = %+q", name, Key(name), same[0], Key(same[0]))
			}
		}
	}
	for _, pair := range [][2]string{{"a", "b"}, {"a.b", "ab"}, {" a", "a"}, {"e", "é"}, {"bad\xff", "bad\xfe"}, {"bad\xff", "bad"}, {"bad\xff", "bad\ufffd"}, {":a", ":b"}} {
		if Key(pair[0]) == Key(pair[1]) {
			t.Errorf("%+q and %+q have one key", pair[0], pair[1])
		}
	}
}

// Folding is Unicode's full case folding, but for the i without a dot: each
// character has the key of what another library folds it to, and two have one key
// only where that library says so, or NFD does.
func TestFullFolding(t *testing.T) {
	unicodeFold := cases.Fold()
	standard := map[string]string{} // key to what the library folds to
	for r := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(r) || ignored(r) || r == 'ı' {
			continue
		}
		want := unicodeFold.String(string(r))
		got := fold(string(r))
		if again := fold(want); again != got {
			t.Errorf("%U: %+q, but what it folds to has %+q", r, got, again)
		}
		if unicode.Is(unicode.Cherokee, r) {
			continue // the library leaves out the pairs of Unicode 8
		}
		want = foldedNFD(want, unicodeFold)
		if other, seen := standard[got]; seen && other != want {
			t.Errorf("%U: has the key of %+q, but folds to %+q", r, other, want)
		}
		standard[got] = want
	}
}

func foldedNFD(s string, c cases.Caser) string { return norm.NFD.String(c.String(norm.NFD.String(s))) }

// A list compares both sides by key, and with short names, at every depth or from
// the root.
func TestCovers(t *testing.T) {
	l := NewList(".github/", "/spec/", ".envrc", "Jenkinsfile", "*.code-workspace", ".cargo/config.toml", "/COMMS.md", "tools/bazel", ".gitlab-ci.yml", "LEARNINGS.md", "Straße/", "mise.*.toml", "lint-staged.config.*")
	for path, want := range map[string]bool{
		".github/workflows/x.yml": true, ".github": true, ".GitHub/x": true, "a/b/.github/x": true, ".github./x": true, ".github /x": true,
		".github::$INDEX_ALLOCATION/x": true, ".gith\u200bub/x": true, "GITHUB~1/x": true, "github~12/x": false, "github~2/x": true, "GI0A3F~1/x": true, "GITHU~12/x": true,
		".gıthub/x": true, "gitlab~1.yml": true, "GITLAB~1": false, "gitlab~1.yam": false, ".GITLAB-CI.YML": true,
		".githubs/x": false, "github/x": false, "x.github/y": false, "GITHUB~x/y": false, "HITHUB~1/x": false, "GIT~1": false, "GITHU~1/x": false, "~1": false, "a~1": false,
		"spec/a": true, "SPEC/a": true, "ſpec/a": true, "spec": true, "a/spec/b": false, "specs/a": false,
		".envrc": true, "sub/.ENVRC": true, ".envrc/below": false, "ENVRC~1": true, ".envrc:x": true,
		"jenkinsfile": true, "JENKIN~1": true, "Jenkinsfile2": false,
		"my.code-workspace": true, "a/MY.Code-Workspace": true, "code-workspace": false, "MY~1.COD": true, "my~1.txt": false,
		".cargo/config.toml": true, "x/.CARGO/CONFIG.TOML": true, ".cargo/other": false, "CARGO~1/CONFIG~1.TOM": true,
		"COMMS.md": true, "comms.MD": true, "docs/COMMS.md": false, "COMMS~1.MD": false,
		"tools/bazel": true, "third/tools/bazel": true, "tools/bazel/x": false,
		"LEARNI~1.MD": true, "docs/learnings.md": true, "strasse/x": true, "STRAẞE/x": true, "stra\u00dfe/x": true,
		"MISELO~1.TOM": true, "MISE~1.TOM": true, "MISE~1.TXT": false, "MILE~1.TOM": false, "LINT-S~1.JS": true, "mise.local.toml": true,
		"": false, "/": false,
	} {
		if l.Covers(path) != want {
			t.Errorf("Covers(%+q) = %v", path, !want)
		}
	}
}

// TestLeads: what stands on the way to a path of the list, at every depth or from the root.
func TestLeads(t *testing.T) {
	l := NewList("tools/bazel", "gradle/wrapper/", "/infra/prod/", ".envrc")
	for path, want := range map[string]bool{
		"tools": true, "app/TOOLS": true, "tools/bazel": false, "tools/x": false, "gradle": true, "gradle/wrapper": false,
		"infra": true, "app/infra": false, ".envrc": false, "a": false, "": false,
	} {
		if l.Leads(path) != want {
			t.Errorf("Leads(%+q) = %v", path, !want)
		}
	}
}

func TestIs(t *testing.T) {
	for _, name := range []string{".git", ".GIT", "git~1", "GIT~2", ".git ", ".git...", ".git::$INDEX_ALLOCATION", ".g\u200cit", ".Gıt", "gi7f3a~1"} {
		if !Is(name, ".git") {
			t.Errorf("%+q is not .git", name)
		}
	}
	for _, name := range []string{".gitignore", "git", "git~", "~1", "digit~1", ".git~1", "git~1x", "g~1"} {
		if Is(name, ".git") {
			t.Errorf("%+q is .git", name)
		}
	}
	for _, name := range []string{".gitmodules", ".GITMODULES", "GITMOD~1", "gitmod~4", "GI7EBA~1", "gi7eba~9", ".gitmodules ", ".gitmodules:$DATA", ".gitmod\u200cules"} {
		if !Is(name, ".gitmodules") {
			t.Errorf("%+q is not .gitmodules", name)
		}
	}
}

func TestCheckPattern(t *testing.T) {
	for text, want := range map[string]string{
		"": "names no path", "/": "names no path", "a//b": "no name", "..": "no name", "a/./b": "no name", "**/x": "`**`", `a\b`: "only wildcard", "[ab]": "only wildcard",
		"x?": "only wildcard", "\xff": "UTF-8",
	} {
		if err := CheckPattern(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"/spec/", ".envrc", "*.x", "a/b/", ".config/mise.*.toml"} {
		if err := CheckPattern(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The key of a key is itself, whatever the name.
func FuzzKey(f *testing.F) {
	for _, s := range []string{".GIT ", "a:b", "ᾳ\u0345", "İ", "\xff\u0300a", "straße. .", "GITHUB~1", "\u1e9b\u0323"} {
		f.Add(s)
	}
	l := NewList(".github/", "*.code-workspace")
	f.Fuzz(func(t *testing.T, name string) {
		key := Key(name)
		if again := Key(key); again != key {
			t.Errorf("Key(%+q) = %+q, and of that %+q", name, key, again)
		}
		if up := Key(strings.ToUpper(name)); utf8.ValidString(name) && !strings.ContainsRune(name, 'ı') && up != key {
			t.Errorf("Key(%+q) = %+q, in capitals %+q", name, key, up)
		}
		l.Covers(name + "/" + key)
	})
}

func BenchmarkCovers(b *testing.B) {
	l := NewList(".github/", "*.code-workspace", ".envrc", "/spec/")
	for b.Loop() {
		l.Covers("hooks/checks/internal/some_file.go")
	}
}
