package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/charter"
)

const (
	compileUsage = "protocol compile [DIR]"
	lintUsage    = "protocol compile --lint [--json] [DIR]"
	toolUsage    = "protocol add-tool PROTOCOL TOOL"
	noToolUsage  = "protocol add-tool --remove PROTOCOL TOOL"
	ruleUsage    = "protocol update-rule PROTOCOL RULE DESCRIPTION"
)

// Protocol is `git ward protocol`: it changes the sources of AGENTS.md in the
// working tree, and compiles them (PROT-2, PROT-3). Committing stays with git.
var Protocol = cli.Command{Name: "protocol", Doc: "change protocols and compile AGENTS.md", Verbs: []cli.Command{
	{Name: "compile", Doc: "compile AGENTS.md and its schema from protocols/", Run: compile,
		Ways: []cli.Way{{Switch: "lint", Doc: "check the protocols' sources, and write nothing", Run: lint}}},
	{Name: "add-tool", Doc: "let a protocol use a tool; --remove: take it from there", Run: edit(charter.AddTool),
		Ways: []cli.Way{{Switch: "remove", Doc: "take the tool from the protocol", Run: edit(charter.RemoveTool)}}},
	{Name: "update-rule", Doc: "word a protocol's rule anew", Run: edit(charter.UpdateRule)},
}}

// compile is `git ward protocol compile [DIR]`.
func compile(_ context.Context, env *cli.Env) error {
	args, err := env.Flags("protocol compile", compileUsage, func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return env.Usage(compileUsage, "compile takes one directory")
	}
	tree, files, err := sourcesOf(env, args)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return diag.Hint(fmt.Errorf("there is no protocol below %s", charter.Dir), "a protocol is a file %sNAME.protocol.json; a new ward repository has twelve", charter.Dir)
	}
	if found := charter.Check(files); diag.HasErrors(found) {
		diag.WriteText(env.Stdout, diag.Normalize(found))
		return cli.ErrFindings
	}
	return writeCompiled(env, tree, files)
}

// sourcesOf reads the protocols of the tree that the arguments name.
func sourcesOf(env *cli.Env, args []string) (*worktree.Tree, []charter.File, error) {
	tree, err := treeOf(env, args)
	if err != nil {
		return nil, nil, err
	}
	files, err := Sources(tree)
	return tree, files, err
}

// compiledOf is what AGENTS.md should be, and whether it is.
func compiledOf(tree *worktree.Tree, files []charter.File) (want []byte, compiled bool, err error) {
	if want, err = charter.Compile(files); err != nil {
		return nil, false, err
	}
	have, err := tree.Read(charter.Compiled, charter.MaxTotal*2)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	return want, bytes.Equal(have, want), nil
}

// writeCompiled writes AGENTS.md where it is not what it should be.
func writeCompiled(env *cli.Env, tree *worktree.Tree, files []charter.File) error {
	want, compiled, err := compiledOf(tree, files)
	if err != nil {
		return err
	}
	if compiled {
		fmt.Fprintf(env.Stdout, "%s is compiled: nothing to do\n", charter.Compiled)
		return nil
	}
	if err := tree.Write(charter.Compiled, want); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "compiled %d files into %s\n", len(files), charter.Compiled)
	return nil
}

// lint is `git ward protocol compile --lint [DIR]`: what the hooks say about protocols and
// AGENTS.md, without a commit.
func lint(_ context.Context, env *cli.Env) error {
	var asJSON bool
	args, err := env.Flags("protocol compile", lintUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON array of findings")
	})
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return env.Usage(lintUsage, "lint takes one directory")
	}
	tree, files, err := sourcesOf(env, args)
	if err != nil {
		return err
	}
	found := charter.Check(files)
	_, compiled, err := compiledOf(tree, files)
	if err != nil {
		return err
	}
	if len(files) > 0 && !compiled {
		found = append(found, diag.Diagnostic{Pos: diag.Pos{Path: charter.Compiled}, Rule: "protocol/compiled", Severity: diag.Error,
			Message: "is not what protocols/ compiles to", Hint: "git ward protocol compile"})
	}
	found = diag.Normalize(found)
	if asJSON {
		err = diag.WriteJSON(env.Stdout, append([]diag.Diagnostic{}, found...))
	} else {
		diag.WriteText(env.Stdout, found)
	}
	if err == nil && diag.HasErrors(found) {
		return cli.ErrFindings
	}
	return err
}

// edit is `git ward protocol add-tool|remove-tool|update-rule`.
func edit(op charter.Op) cli.Func {
	return func(_ context.Context, env *cli.Env) error {
		usage, want := toolUsage, 2
		if op == charter.RemoveTool {
			usage = noToolUsage
		}
		if op == charter.UpdateRule {
			usage, want = ruleUsage, 3
		}
		args, err := env.Flags("protocol "+string(op), usage, func(*flag.FlagSet) {})
		if err != nil {
			return err
		}
		if len(args) != want {
			return env.Usage(usage, "%s takes %d arguments", op, want)
		}
		e := charter.Edit{Op: op, Protocol: args[0]}
		if op == charter.UpdateRule {
			e.Rule, e.Text = args[1], args[2]
		} else {
			e.Tool = args[1]
		}
		tree, err := worktree.Find(env.Dir)
		if err != nil {
			return err
		}
		return apply(env, tree, e)
	}
}

func apply(env *cli.Env, tree *worktree.Tree, e charter.Edit) error {
	files, err := Sources(tree)
	if err != nil {
		return err
	}
	changed, err := e.Apply(files)
	switch {
	case errors.Is(err, charter.ErrUnchanged):
		fmt.Fprintln(env.Stdout, err)
		return writeCompiled(env, tree, files) // a kill may have come between the two files
	case err != nil:
		return diag.Hint(err, "git ward protocol compile --lint says what is wrong with the protocols; AGENTS.md lists their ids")
	}
	for i := range files {
		if files[i].Path == changed.Path {
			files[i] = changed
		}
	}
	if err := tree.Write(changed.Path, changed.Data); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "changed %s\n", changed.Path)
	return writeCompiled(env, tree, files)
}
