package planrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"git-ward/agent/tool"
	"git-ward/protocols/mergediff"
	"git-ward/protocols/plan"
	"git-ward/vm"
	"git-ward/vm/asm"
)

const (
	maxFile    = 10 << 20  // that a step reads or writes
	maxOutput  = 256 << 10 // of a step, for its reader
	maxMatches = 1000      // of grep
)

// perform does what a step says. The message is for its commit and its log line:
// it says what happened, never what was read.
func (u *run) perform(ctx context.Context, p point) (message string, err error) {
	if u.Guard != nil {
		if err := u.Guard(p.Tool); err != nil {
			return "", err
		}
	}
	args := plan.Fill(p.Args, p.files)
	output := ""
	switch p.Tool {
	case plan.SetPlan, plan.StepComplete, plan.DefineNames, plan.DefineDiagonal:
		message = p.Text()
	case plan.MessageUser:
		message = fmt.Sprintf("told the PM, %d bytes", len(p.Text()))
		err = u.Message(ctx, plan.Fill(p.Text(), p.files), fmt.Sprintf("Step: %s of %.12s", u.name(p.n), u.base))
	case plan.Submit:
		message, err = "pushed", u.Submit(ctx, p.Text())
	case plan.ReadFile:
		output, err = u.readFile(args)
		message = fmt.Sprintf("read %d bytes", len(output))
	case plan.ListFiles:
		output, err = u.listFiles(args)
		message = fmt.Sprintf("%d names", strings.Count(output, "\n"))
	case plan.Grep:
		output, err = u.grep(ctx, p)
		message = fmt.Sprintf("%d lines match", strings.Count(output, "\n"))
	case plan.GoogleSearch:
		output, err = search(ctx, u.Search, args)
		message = fmt.Sprintf("found %d bytes", len(output))
	case plan.ViewTextWebsite:
		output, err = view(ctx, u.Search, args)
		message = fmt.Sprintf("read %d bytes", len(output))
	case plan.CreateFile, plan.OverwriteFile, plan.ReplaceDiff, plan.DeleteFile, plan.RenameFile:
		message, err = u.change(p, args)
	case plan.ForEachFile:
		files, matchErr := u.cursor.files(args)
		message, err = fmt.Sprintf("%d files", len(files)), matchErr
	case plan.CallPlan:
		message, output, err = u.call(ctx, p)
	case plan.Bash:
		message, output, err = u.bash(ctx, p)
	}
	if u.Output != nil && (output != "" || err != nil) {
		u.Output(u.name(p.n), cut(output, maxOutput))
	}
	return u.plainText(message), err
}

// inTree refuses a path that, with the files of loops in it, leaves the tree.
func inTree(path string) error {
	if bad := plan.BadPath(path); bad != "" {
		return fmt.Errorf("the path %q %s", path, bad)
	}
	return nil
}

func (u *run) readFile(path string) (string, error) {
	if err := inTree(path); err != nil {
		return "", err
	}
	data, err := u.Tree.Read(path, maxFile)
	return strings.ToValidUTF8(string(data), "\ufffd"), err
}

func (u *run) listFiles(path string) (string, error) {
	if path == "" {
		path = "."
	}
	if err := inTree(path); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(u.Tree.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), path)
	var b strings.Builder
	for _, e := range entries {
		if path == "." && e.Name() == ".git" {
			continue
		}
		b.WriteString(e.Name())
		if e.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	return b.String(), err
}

// grep searches the files that git has, so that it gives the same again.
func (u *run) grep(ctx context.Context, p point) (string, error) {
	pattern, in := p.GrepArgs()
	expression, err := regexp.Compile(plan.Fill(pattern, p.files))
	if err != nil {
		return "", err
	}
	in = plan.Fill(in, p.files)
	list := []string{"ls-files", "-z", "--cached"}
	if in != "" {
		if err := inTree(in); err != nil {
			return "", err
		}
		list = append(list, "--", ":(literal)"+in)
	}
	names, err := u.Tree.Git(ctx, list...)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	matches := 0
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		data, err := u.Tree.Read(name, maxFile)
		if err != nil || strings.ContainsRune(string(data[:min(len(data), 8000)]), 0) {
			continue // a link, a large file, not text
		}
		line := 0
		for text := range strings.Lines(string(data)) {
			line++
			if !expression.MatchString(strings.TrimSuffix(text, "\n")) {
				continue
			}
			fmt.Fprintf(&b, "%s:%d:%s\n", name, line, strings.ToValidUTF8(strings.TrimSuffix(text, "\n"), "\ufffd"))
			if matches++; matches == maxMatches {
				return b.String(), nil
			}
		}
	}
	return b.String(), nil
}

// change does what a step says to a file.
func (u *run) change(p point, path string) (string, error) {
	if p.Tool == plan.RenameFile {
		return u.rename(p)
	}
	if err := inTree(path); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(u.Tree.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	_, statErr := root.Lstat(filepath.FromSlash(path))
	switch p.Tool {
	case plan.DeleteFile:
		return "deleted " + path, root.Remove(filepath.FromSlash(path))
	case plan.CreateFile:
		if statErr == nil {
			return "", fmt.Errorf("%s exists", path)
		}
		if !errors.Is(statErr, fs.ErrNotExist) {
			return "", statErr
		}
	case plan.ReplaceDiff:
		return u.replace(path, p.Block)
	}
	return fmt.Sprintf("wrote %s, %d bytes", path, len(p.Block)), u.Tree.Write(path, []byte(p.Block))
}

func (u *run) rename(p point) (string, error) {
	words := strings.Fields(p.Args)
	if len(words) != 2 {
		return "", fmt.Errorf("rename_file takes two paths")
	}
	old, name := plan.Fill(words[0], p.files), plan.Fill(words[1], p.files)
	if err := errors.Join(inTree(old), inTree(name)); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(u.Tree.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if _, err := root.Lstat(filepath.FromSlash(name)); err == nil {
		return "", fmt.Errorf("%s exists", name)
	}
	if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755); err != nil {
		return "", err
	}
	return fmt.Sprintf("renamed %s to %s", old, name), root.Rename(filepath.FromSlash(old), filepath.FromSlash(name))
}

func (u *run) replace(path, diff string) (string, error) {
	hunks, err := mergediff.Parse(diff)
	if err != nil {
		return "", fmt.Errorf("the merge diff: %w", err)
	}
	data, err := u.Tree.Read(path, maxFile)
	if err != nil {
		return "", err
	}
	data, err = mergediff.Apply(data, hunks)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Sprintf("replaced %d places of %s", len(hunks), path), u.Tree.Write(path, data)
}

// bash runs a command, or closes the task.
func (u *run) bash(ctx context.Context, p point) (message, output string, err error) {
	if id := p.Closes(); id != "" {
		if p.research() {
			return "research is done", "", nil
		}
		message, err = u.Close(ctx, id)
		return message, "", err
	}
	args, err := json.Marshal(map[string]string{"command": fillShell(p.Text(), p.files)})
	if err != nil {
		return "", "", err
	}
	box := *u.Box
	box.Env = append(box.Env[:len(box.Env):len(box.Env)], u.tag())
	result, err := tool.Call(ctx, box.Tools(), "bash", args)
	if err != nil {
		return "", "", err
	}
	last := strings.TrimSpace(result.Text[strings.LastIndex(result.Text, "\n")+1:])
	if result.IsError {
		return "", result.Text, fmt.Errorf("the command ended with %s; the last of its output:\n%s", last, lastLines(result.Text, 2000))
	}
	return last, result.Text, nil
}

// lastLines is the end of a text, whole lines where that goes.
func lastLines(s string, size int) string {
	if len(s) <= size {
		return s
	}
	s = s[len(s)-size:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./@%+=:,-]+$`)

// fillShell is plan.Fill for a command: a file name that the shell would take
// apart comes as one quoted word.
func fillShell(command string, files []string) string {
	words := make([]string, len(files))
	for i, f := range files {
		words[i] = f
		if !plainWord.MatchString(f) {
			words[i] = "'" + strings.ReplaceAll(f, "'", `'\''`) + "'"
		}
	}
	return plan.Fill(command, words)
}

// call runs a program in the vm; a called plan is the cursor's to enter.
func (u *run) call(ctx context.Context, p point) (message, output string, err error) {
	path, callee, err := u.callee(p.Args)
	if err != nil || callee != nil {
		return "calls " + path, "", err
	}
	program, err := u.program(path)
	if err != nil {
		return "", "", err
	}
	image, err := vm.Link(program, library{u})
	if err != nil {
		return "", "", err
	}
	machine, err := vm.New(image, u.Limits, u.Calls)
	if err != nil {
		return "", "", err
	}
	result, err := machine.Run(ctx)
	if err != nil {
		return "", "", err
	}
	text, err := json.Marshal(result)
	if err == nil && result.State != vm.Halted {
		err = fmt.Errorf("%s ended with %s after %d instructions", path, result.Code, result.Instructions)
	}
	return fmt.Sprintf("%s: %s after %d instructions", path, result.State, result.Instructions), string(text), err
}

// program reads a .udc from the tree that was linted.
func (u *run) program(path string) (*asm.Program, error) {
	data, err := u.tree.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	program, found := asm.Parse(path, data)
	if len(found) > 0 {
		return nil, fmt.Errorf("%s: %s", found[0].Pos, found[0].Message)
	}
	return program, nil
}

// library finds the programs that a program calls by their registered names.
type library struct{ *run }

// Plan implements vm.Library.
func (l library) Plan(name string) (*asm.Program, error) {
	path, err := l.lint.Resolve(name)
	if err != nil {
		return nil, err
	}
	if path == name || !strings.HasSuffix(path, ".udc") {
		return nil, vm.ErrNoPlan
	}
	return l.program(path)
}
