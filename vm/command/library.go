package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"git-ward/vm"
	"git-ward/vm/asm"
)

// registryPath is where a ward repository names its plans.
const registryPath = "knowledge_core/plan_registry.json"

// maxRegistry is what the hook allows the registry to be.
const maxRegistry = 4 << 20

// library is the plans of the ward repository that a file lies in. The registry is
// read when the first plan is called; a call is by registered name only, and
// files are opened below the repository's root, wherever links lead.
type library struct {
	*reader
	start string // directory of the calling plan, absolute
	root  *os.Root
	names map[string]string
}

// Plan implements vm.Library.
func (l *library) Plan(name string) (*asm.Program, error) {
	if l.names == nil {
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	path, ok := l.names[name]
	if !ok || filepath.Ext(path) != ".udc" {
		return nil, vm.ErrNoPlan
	}
	file, err := l.root.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the registered plan cannot be read: %w", err)
	}
	defer file.Close()
	data, err := readPlan(file)
	if err != nil {
		return nil, err
	}
	p, found := asm.Parse(path, data)
	if found != nil {
		return nil, l.refuse(path, found)
	}
	return p, nil
}

func (l *library) close() {
	if l.root != nil {
		l.root.Close()
	}
}

// open finds the repository, and reads its registry; without one, no plan has a
// name.
func (l *library) open() error {
	l.names = map[string]string{}
	dir := l.start
	for {
		_, err := os.Lstat(filepath.Join(dir, registryPath))
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_, err = os.Lstat(filepath.Join(dir, ".git"))
		if parent := filepath.Dir(dir); err == nil || parent == dir {
			return nil
		} else {
			dir = parent
		}
	}
	var err error
	if l.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	return l.readRegistry()
}

func (l *library) readRegistry() error {
	info, err := l.root.Stat(registryPath)
	if err != nil {
		return err
	}
	if info.Size() > maxRegistry {
		return fmt.Errorf("%s has %d bytes, more than %d", registryPath, info.Size(), maxRegistry)
	}
	data, err := l.root.ReadFile(registryPath)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &l.names); err != nil {
		return fmt.Errorf("%s: %w", registryPath, err)
	}
	return nil
}
