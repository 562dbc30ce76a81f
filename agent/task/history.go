package task

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"git-ward/agent/activity"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
	"git-ward/protocols/state"
	"git-ward/protocols/symbols"
)

const (
	maxHistory = 20       // of each kind
	maxIndex   = 64 << 20 // of symbols and graph
)

// Known is what the repository knows about a task before it is planned (002,
// phase1-deconstruction): where to look, not what is there.
type Known struct {
	Pushes      []string // newest records of the audit, "" subjects left out
	Plans       []string // paths
	PostMortems []string // paths, the newest first
	Symbols     []string // "file:line name" of what the task's text names
	Dependents  []string // files that depend on those files
}

// Query collects what is known of a text. Bare is the remote on this machine, ""
// for none. What cannot be read is left out: a repository without history is not
// in trouble.
func Query(ctx context.Context, tree *worktree.Tree, bare, text string) Known {
	var k Known
	if bare != "" {
		out, _ := git.Open(bare).Output(ctx, "log", fmt.Sprintf("-%d", maxHistory), "--format=%cI %s", state.AuditRef, "--")
		k.Pushes = lines(string(out))
	}
	dir, _ := tree.RecordDir(ctx)
	for _, name := range plansAndPostMortems(ctx, tree, dir) {
		switch path := strings.TrimPrefix(name, worktree.RecordDir+"/"); {
		case strings.HasPrefix(path, "plans/") && !strings.HasSuffix(name, ".gitkeep"):
			k.Plans = append(k.Plans, diag.Clean(name))
		case strings.HasPrefix(path, "postmortems/") && strings.HasSuffix(name, ".md"):
			k.PostMortems = append(k.PostMortems, diag.Clean(name))
		}
	}
	if dir != "" {
		k.Plans = append(k.Plans, registered(ctx, tree)...)
	}
	slices.Reverse(k.PostMortems)
	k.Plans, k.PostMortems = k.Plans[:min(len(k.Plans), maxHistory)], k.PostMortems[:min(len(k.PostMortems), maxHistory)]
	k.entities(tree, dir, text)
	return k
}

// plansAndPostMortems are a tree's plans and post-mortems: an agent's are in a directory, a
// person's are tracked files.
func plansAndPostMortems(ctx context.Context, tree *worktree.Tree, dir string) []string {
	if dir == "" {
		names, _ := tree.Git(ctx, "ls-files", "-z", "--", "plans", "postmortems")
		return strings.Split(names, "\x00")
	}
	list, _ := tree.Walk(dir, func(string) bool { return true })
	return list
}

// registered are the names of control's plans.
func registered(ctx context.Context, tree *worktree.Tree) (list []string) {
	data, err := tree.Document(ctx, plan.RegistryPath, plan.MaxRegistryBytes)
	if err != nil {
		return nil
	}
	registry, _ := plan.ParseRegistry(data)
	for _, name := range registry.Names() {
		list = append(list, diag.Clean("call_plan "+name))
	}
	return list
}

func lines(s string) (list []string) {
	for line := range strings.Lines(s) {
		list = append(list, diag.Clean(strings.TrimRight(line, "\n")))
	}
	return list
}

// entities searches a text's words in the symbols, and finds the files that depend on theirs.
func (k *Known) entities(tree *worktree.Tree, dir, text string) {
	var s symbols.Symbols
	if !load(tree, path.Join(dir, symbols.SymbolsPath), &s) {
		return
	}
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		words[strings.Trim(w, ".")] = true
	}
	files := map[string]bool{}
	for _, symbol := range s.Symbols {
		method := symbol.Name[strings.LastIndexByte(symbol.Name, '.')+1:]
		if len(symbol.Name) > 2 && (words[symbol.Name] || len(method) > 2 && words[method]) || words[symbol.File] {
			files[symbol.File] = true
			if len(k.Symbols) < maxHistory {
				k.Symbols = append(k.Symbols, diag.Clean(fmt.Sprintf("%s:%d %s", symbol.File, symbol.Line, symbol.Name)))
			}
		}
	}
	var g symbols.Graph
	if !load(tree, path.Join(dir, symbols.GraphPath), &g) {
		return
	}
	for _, edge := range g.Edges {
		if files[edge.Local] && len(k.Dependents) < maxHistory && !slices.Contains(k.Dependents, edge.From) {
			k.Dependents = append(k.Dependents, diag.Clean(edge.From))
		}
	}
}

func load(tree *worktree.Tree, path string, v any) bool {
	data, err := tree.Read(path, maxIndex)
	return err == nil && json.Unmarshal(data, v) == nil
}

// Text is this knowledge as a worker reads it, "" when nothing is known.
func (k Known) Text() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		list  []string
	}{
		{"Newest pushes", k.Pushes}, {"Plans", k.Plans}, {"Post-mortems, the newest first", k.PostMortems},
		{"Symbols that the directive names", k.Symbols}, {"Files that depend on theirs", k.Dependents},
	} {
		if len(part.list) > 0 {
			fmt.Fprintf(&b, "\n%s:\n- %s\n", part.title, strings.Join(part.list, "\n- "))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "# What the repository knows\n" + b.String()
}

// Log writes what was asked and how much came of it.
func (k Known) Log(id string, log *activity.Log) error {
	return log.Append(activity.Entry{Phase: "PLANNING", Task: activity.Task{ID: id},
		Action: activity.Action{Type: activity.FileRead, Details: map[string]any{
			"pushes": len(k.Pushes), "plans": len(k.Plans), "post_mortems": len(k.PostMortems), "symbols": k.Symbols, "dependents": k.Dependents}},
		Outcome:  activity.Outcome{Status: activity.Success, Message: "queried history, symbols and dependencies"},
		Evidence: append(slices.Clone(k.PostMortems), k.Symbols...)})
}
