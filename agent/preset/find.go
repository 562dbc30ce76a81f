package preset

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// Find is the program's path. Where npm's package has a script of node in front of the
// program itself, it is the latter: the fence may have no node.
func (p *Preset) Find() (string, error) {
	path, err := exec.LookPath(p.Program)
	if err != nil {
		moved := movedLink(p.Program)
		if moved == "" {
			return "", err
		}
		path = moved
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if modules := above(real); modules != "" && !ownELF(real) {
		if found := nativeIn(modules, p.Package, p.Program); found != "" {
			return found, nil
		}
	}
	return path, interpreted(real)
}

// Runnable refuses a program that is not there, and a script whose interpreter is not.
func Runnable(program string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	return interpreted(path)
}

// above is the nearest directory node_modules that a path is in, "" for none.
func above(path string) string {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "node_modules" {
			return dir
		}
	}
	return ""
}

// movedLink follows a program's link on PATH whose target is named by the path at which npm
// installed it. Here, in the fence, the same directory node_modules lies elsewhere.
func movedLink(program string) string {
	const most, nodeModules = 8, "/node_modules/" // most is of links in a row
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, program)
		for range most {
			target, err := os.Readlink(path)
			if err != nil {
				break
			}
			modules := above(path)
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			} else if i := strings.LastIndex(target, nodeModules); i >= 0 && modules != "" {
				target = filepath.Join(modules, target[i+len(nodeModules):])
			}
			path = target
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// machines are what kernels call the machines that Ward runs on.
var machines = map[string]struct {
	name string
	elf  elf.Machine
}{"amd64": {"x86_64", elf.EM_X86_64}, "arm64": {"aarch64", elf.EM_AARCH64}}

// nativeIn is a program for this machine in a package of a directory node_modules, or in one that
// the package names as optional: npm installs of those the one that fits the machine. "" for none.
// Other packages there belong to other people, whatever their names.
func nativeIn(modules, own, program string) string {
	dir := filepath.Join(modules, filepath.FromSlash(own))
	var manifest struct{ OptionalDependencies map[string]string }
	if data, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil {
		json.Unmarshal(data, &manifest) // an unreadable package.json names none
	}
	places := []string{dir}
	for _, name := range slices.Sorted(maps.Keys(manifest.OptionalDependencies)) {
		if name = filepath.FromSlash(name); filepath.IsLocal(name) {
			places = append(places, filepath.Join(dir, "node_modules", name), filepath.Join(modules, name))
		}
	}
	for _, place := range places {
		if found := nativeBelow(place, program); found != "" {
			return found
		}
	}
	return ""
}

// nativeBelow is a program for this machine below a directory, "" for none: of its plain name, or
// with the machine's behind it, or with a dot before it, as npm's script links the one that fits.
// What the directory depends on, in a node_modules of its own, is not searched.
func nativeBelow(dir, program string) (path string) {
	filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && at != dir && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		name := d.Name()
		if (strings.TrimPrefix(name, ".") == program || strings.HasPrefix(name, program+"-"+machines[runtime.GOARCH].name)) && ownELF(at) {
			path = at
			return fs.SkipAll
		}
		return nil
	})
	return path
}

// ownELF reports whether a file is a program for Linux on this machine.
func ownELF(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Machine == machines[runtime.GOARCH].elf
}

// interpreted refuses a script whose interpreter is not there.
func interpreted(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // who starts it says so
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	line, isScript := bytes.CutPrefix(head[:n], []byte("#!"))
	if !isScript {
		return nil
	}
	first, _, _ := strings.Cut(string(line), "\n")
	words := strings.Fields(first)
	if len(words) > 1 && filepath.Base(words[0]) == "env" {
		words = words[1:]
		if words[0] == "-S" && len(words) > 1 {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return nil
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return &NoInterpreter{Program: filepath.Base(path), Interpreter: filepath.Base(words[0])}
	}
	return nil
}

// NoInterpreter is the error of a script whose interpreter is not there.
type NoInterpreter struct{ Program, Interpreter string }

func (e *NoInterpreter) Error() string {
	return fmt.Sprintf("%s is a script of %s, which is not there", diag.Clean(e.Program), diag.Clean(e.Interpreter))
}

// Script is that error, nil where an error is none.
func Script(err error) *NoInterpreter {
	if e, ok := errors.AsType[*NoInterpreter](err); ok {
		return e
	}
	return nil
}
