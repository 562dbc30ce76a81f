package cache

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// bench runs the scripts of fills and verdicts as plain processes, with the directories
// of a container elsewhere.
type bench struct {
	t     *testing.T
	store *Store
	tree  string // a checkout of main
}

func newBench(t *testing.T, files map[string]string) *bench {
	b := &bench{t: t, store: &Store{Dir: filepath.Join(t.TempDir(), "store"), Size: 64 << 20}, tree: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(b.tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// command is a script for the shell in the checkout, in a container's directories: home,
// and an entry of the cache.
func (b *bench) command(home, entry, script string, env map[string]string) *exec.Cmd {
	places := strings.NewReplacer(Inside, entry, Pack, home+"/pack", work+"/", home+"/")
	c := exec.Command("sh", "-c", places.Replace(script))
	c.Dir = b.tree
	c.Env = []string{"PATH=" + filepath.Dir(python(b.t)) + ":" + os.Getenv("PATH"), "HOME=" + home}
	for name, value := range env {
		c.Env = append(c.Env, name+"="+places.Replace(value))
	}
	return c
}

// fill is a fill of all that the checkout's lockfiles name, and what it said.
func (b *bench) fill(main string, env map[string]string) (said string, err error) {
	tree := map[string]string{}
	filepath.WalkDir(b.tree, func(path string, d os.DirEntry, err error) error {
		if name, _ := filepath.Rel(b.tree, path); err == nil && d.Type().IsRegular() {
			tree[name] = "100644 " + name
		}
		return err
	})
	locks := LocksOf(tree, allKinds)
	all := FillEnv()
	for name, value := range env {
		all[name] = value
	}
	err = b.store.Fill(b.t.Context(), key, main, locks.Kinds(), 0, func(_ *Entry, w io.Writer) error {
		c := b.command(b.t.TempDir(), "/nowhere", locks.FillScript(), all)
		var out bytes.Buffer
		c.Stdout, c.Stderr = w, &out
		err := c.Run()
		said = out.String()
		return err
	})
	return said, err
}

// verdict runs a line as a verdict without a network does.
func (b *bench) verdict(line string) (out string, err error) {
	e := newest(b.t, b.store, key, first)
	if e == nil {
		b.t.Fatal("there is no entry")
	}
	env := Env(e.Seal.Kinds, false)
	for _, name := range []string{"http_proxy", "https_proxy"} { // to nowhere
		env[name] = "http://127.0.0.1:1"
	}
	all, err := b.command(b.t.TempDir(), e.Dir, Setup+"\n"+line, env).CombinedOutput()
	return string(all), err
}

func python(t *testing.T) string {
	out, err := exec.Command("python3", "-c", "import sys, pip; print(sys.executable)").Output()
	if err != nil {
		t.Skip("SKIPPED: python3 with pip is not on this machine")
	}
	return strings.TrimSpace(string(out))
}

// registry is one for npm with packages of one version, 1.0.0, and gives a package's
// entry in a lockfile.
func registry(t *testing.T, names ...string) (url string, locked map[string]any) {
	tars := map[string][]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, ok := tars[strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".tgz")]; ok {
			w.Write(data)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	locked = map[string]any{}
	for _, name := range names {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		w := tar.NewWriter(z)
		for file, text := range map[string]string{"package/package.json": `{"name":"` + name + `","version":"1.0.0","scripts":{"install":"touch /tmp/ward-ran"}}`, "package/index.js": `module.exports = "` + name + `"`} {
			w.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
			io.WriteString(w, text)
		}
		w.Close()
		z.Close()
		tars[name] = packed.Bytes()
		sum := sha512.Sum512(packed.Bytes())
		locked["node_modules/"+name] = map[string]any{"version": "1.0.0", "resolved": s.URL + "/" + name + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), "hasInstallScript": true}
	}
	return s.URL, locked
}

func lockfile(t *testing.T, packages map[string]any) string {
	data, err := json.Marshal(map[string]any{"name": "p", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": packages})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestNpm: what a lockfile names is there for `npm ci` without a network, for a project
// with workspaces too, and no script of a package ran.
func TestNpm(t *testing.T) {
	tier.Full(t, "it runs npm")
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("SKIPPED: npm is not on this machine")
	}
	url, packages := registry(t, "dep", "deeper")
	packages[""] = map[string]any{"name": "p", "version": "1.0.0", "workspaces": []string{"packages/*"}, "dependencies": map[string]any{"dep": "^1.0.0"}}
	packages["packages/a"] = map[string]any{"name": "a", "version": "1.0.0", "dependencies": map[string]any{"deeper": "^1.0.0"}}
	packages["node_modules/a"] = map[string]any{"resolved": "packages/a", "link": true}
	b := newBench(t, map[string]string{
		"package.json":            `{"name":"p","version":"1.0.0","workspaces":["packages/*"],"dependencies":{"dep":"^1.0.0"},"scripts":{"preinstall":"touch ran"}}`,
		"packages/a/package.json": `{"name":"a","version":"1.0.0","dependencies":{"deeper":"^1.0.0"},"scripts":{"prepare":"touch ran"}}`,
		"package-lock.json":       lockfile(t, packages),
		".npmrc":                  "registry=http://127.0.0.1:1/\nnode-options=--require=./evil.js\n",
	})
	if said, err := b.fill(first, map[string]string{"npm_config_registry": url}); err != nil {
		t.Fatal(err, said)
	}
	if _, err := os.Stat(filepath.Join(b.tree, "ran")); err == nil {
		t.Error("a script of the tree ran")
	}
	if err := os.Remove(filepath.Join(b.tree, ".npmrc")); err != nil {
		t.Fatal(err)
	}
	if out, err := b.verdict(`npm ci --ignore-scripts && test -s node_modules/dep/index.js && test -s node_modules/deeper/index.js`); err != nil {
		t.Error(err, out)
	}
}

// wheel writes a wheel of version 1.0 into a directory, and gives its hash.
func wheel(t *testing.T, dir, name string) (hash string) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	info := name + "-1.0.dist-info/"
	for _, f := range [][2]string{
		{name + ".py", "WHO = '" + name + "'\n"}, {info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: ward\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}, {info + "RECORD", ""},
	} {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = io.WriteString(w, f[1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	if err := os.WriteFile(filepath.Join(dir, name+"-1.0-py3-none-any.whl"), packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(packed.Bytes())
	return hex.EncodeToString(sum[:])
}

// TestPip: wheels that a requirements file names with their hash are there for pip without
// a network, from where the settings say, and no code of the tree ran.
func TestPip(t *testing.T) {
	tier.Full(t, "it runs pip")
	t.Parallel()
	wheels := t.TempDir()
	one, two := wheel(t, wheels, "one"), wheel(t, wheels, "two")
	b := newBench(t, map[string]string{
		"requirements.txt":     fmt.Sprintf("# made by pip-compile\none==1.0 \\\n    --hash=sha256:%s\nunpinned\n-e ./lib\nsource==2.0 --hash=sha256:%064d\n", one, 0),
		"requirements-dev.txt": fmt.Sprintf("-r requirements.txt\ntwo==1.0 ; python_version >= \"3\" --hash=sha256:%s \\\n --hash=sha256:%064d\n", two, 0),
		"pip/__main__.py":      "open('ran', 'w')\n",
		"pip/__init__.py":      "",
	})
	if said, err := b.fill(first, map[string]string{"PIP_FIND_LINKS": wheels, "PIP_NO_INDEX": "1"}); err != nil {
		t.Fatal(err, said)
	}
	if _, err := os.Stat(filepath.Join(b.tree, "ran")); err == nil {
		t.Error("code of the tree ran")
	}
	if out, err := b.verdict(`cd / && python3 -m pip install --quiet --target "$HOME/lib" one two && PYTHONPATH="$HOME/lib" python3 -c 'import one, two; assert one.WHO + two.WHO == "onetwo"'`); err != nil {
		t.Error(err, out)
	}
}
