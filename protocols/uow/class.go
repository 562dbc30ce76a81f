package uow

import "strings"

// class is a kind of tools. Each worker has its own names for the same kind (a model's tools,
// a plan's steps, a program's tools), and a policy covers all of them.
type class string

const (
	reads  class = "reads"
	writes class = "writes"
	runs   class = "runs"
)

// classes maps tools' names, in lower case, to their kinds: names used by models, by plans, and by Claude
// Code, Codex and opencode. The template's policy.toml lists them for the PM.
var classes = func() map[string]class {
	m := make(map[string]class)
	for c, names := range map[class]string{
		reads: "read_file list_files grep google_search view_text_website " +
			"read glob ls list webfetch websearch web_search notebookread read_many_files view",
		writes: "write_file create_file_with_block overwrite_file_with_block replace_with_git_merge_diff delete_file rename_file " +
			"write edit multiedit notebookedit patch apply_patch file_change str_replace_based_edit_tool",
		runs: "bash run_in_bash_session shell local_shell exec_command command_execution unified_exec bashoutput",
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = c
		}
	}
	return m
}()

// plain strips the server that an MCP client puts before a tool's name: mcp__ward__bash, ward_bash and
// ward.bash become bash.
func plain(tool string) string {
	for _, sep := range []string{"__", ".", "/"} {
		if i := strings.LastIndex(tool, sep); i >= 0 {
			tool = tool[i+len(sep):]
		}
	}
	return strings.TrimPrefix(strings.ToLower(tool), "ward_")
}

// stands reports whether a stage's word covers a tool: by its name, or by its kind if the policy does not
// name the tool.
func stands(word, tool string, named bool) bool {
	if named {
		return plain(word) == plain(tool)
	}
	c := classes[plain(tool)]
	return c != "" && c == classes[plain(word)]
}
