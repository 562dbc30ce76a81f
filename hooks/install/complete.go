package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
)

// complete refuses a repository without its complete history, because the gate judges and the
// fence shows it, permanently.
func (in *installer) complete(ctx context.Context) error {
	for _, c := range []struct{ file, what, hint string }{
		{"shallow", "is shallow: commits of its history are missing", "git --git-dir=%s fetch --unshallow"},
		{"objects/info/alternates", "borrows objects from another repository (objects/info/alternates), which may lose them and is not in the fence",
			"git --git-dir=%[1]s repack -a -d && rm %[1]s/objects/info/alternates"},
	} {
		info, err := os.Stat(filepath.Join(in.Dir, c.file))
		if err == nil && info.Size() > 0 {
			return diag.Hint(fmt.Errorf("%s %s", in.Dir, c.what), c.hint, diag.Word(in.Dir))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if in.settings.get(ctx, "extensions.partialClone") != "" || in.settings.get(ctx, "remote.origin.promisor") == "true" {
		return diag.Hint(fmt.Errorf("%s is a partial clone: objects of its history are missing", in.Dir), "git clone --bare the whole of it")
	}
	if format := in.settings.get(ctx, "extensions.refStorage"); format != "" && format != "files" {
		return diag.Hint(fmt.Errorf("%s keeps its refs as %s; Ward reads files only", in.Dir, format), "git --git-dir=%s refs migrate --ref-format=files", diag.Word(in.Dir))
	}
	return nil
}

// ownLayout is the hook directory that the repository itself configures, so that its hooks
// stay in force; "" for none. A directory elsewhere may serve other repositories, whose pushes
// are not Ward's to judge.
func (in *installer) ownLayout(ctx context.Context) (string, error) {
	named := in.settings.get(ctx, "core.hooksPath")
	out, err := in.repo.Output(ctx, "config", "--local", "--includes", "--default", "", "--get", "core.hooksPath")
	if err != nil {
		return "", err
	}
	if strings.TrimSuffix(string(out), "\n") != named {
		return "", diag.Hint(fmt.Errorf("core.hooksPath of %s is set by a file that its config includes, over whatever init could set", in.Dir), "set it in %s/config itself, and take it out of the file", in.Dir)
	}
	dir := filepath.Join(in.Dir, "hooks")
	if named != "" {
		dir = named
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(in.Dir, dir)
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	bare, err := filepath.EvalSymlinks(in.Dir)
	if err != nil {
		return "", err
	}
	if rel := hookdir.Relative(bare, real); filepath.IsAbs(rel) {
		return "", diag.Hint(fmt.Errorf("the hooks of %s are in %s, which other repositories may use, too", in.Dir, real),
			"give it hooks of its own: cp -a %[2]s/. %[1]s/own-hooks && git --git-dir=%[1]s config core.hooksPath own-hooks; or, for all of them: git ward init --hooks %[2]s --bare %[1]s", diag.Word(in.Dir), diag.Word(real))
	} else if named != "" && rel != "." {
		return strings.TrimSuffix(rel, "/"), nil
	}
	return "", nil
}
