package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"git-ward/internal/diag"
)

// answer is a command's output.
type answer struct {
	Exit    int    `json:"exit" jsonschema:"0: clean; 1: findings, or refused; 2: usage or trouble"`
	Results []any  `json:"results" jsonschema:"what the command printed as JSON, one object a line"`
	Text    string `json:"text" jsonschema:"what else it said, errors with their remedies"`
}

// maxAnswer bounds a command's output for a model, in bytes.
const maxAnswer = 256 << 10

type filesInput struct {
	Files []string `json:"files,omitempty" jsonschema:"paths relative to the top of the working tree; none: all there are"`
}

type plansInput struct {
	Plans []string `json:"plans" jsonschema:"registered names, or paths relative to the top of the working tree"`
}

type udcInput struct {
	Files []string `json:"files" jsonschema:".udc files, paths relative to the top of the working tree"`
}

type udcRunInput struct {
	Files           []string `json:"files" jsonschema:".udc files, paths relative to the top of the working tree"`
	MaxInstructions int64    `json:"max_instructions,omitempty" jsonschema:"the limit on executed instructions; at least 1"`
	MaxCells        int64    `json:"max_cells,omitempty" jsonschema:"the limit on the tape's length; at least 1"`
	MaxTime         string   `json:"max_time,omitempty" jsonschema:"the limit on time, such as 5s"`
}

type lessonInput struct {
	All bool `json:"all,omitempty" jsonschema:"also those that are settled"`
}

type planInput struct {
	Plan string `json:"plan" jsonschema:"a registered name, or a path relative to the top of the working tree"`
}

type grammarInput struct {
	Schema bool `json:"schema,omitempty" jsonschema:"the JSON Schema of a plan instead of the text form"`
}

type taskInput struct {
	Task string `json:"task,omitempty" jsonschema:"the directive, such as D-1; none: the one at hand"`
}

type orientInput struct {
	Unknowns []string `json:"unknowns,omitempty" jsonschema:"what you do not know; each is searched for"`
}

type wordsInput struct {
	Words string   `json:"words" jsonschema:"what is looked for, in words"`
	In    []string `json:"in,omitempty" jsonschema:"some sources only: documents, symbols, dependencies, files, history, lessons, post-mortems"`
	Deep  bool     `json:"deep,omitempty" jsonschema:"also what stands around the places"`
}

type topicInput struct {
	Topic   string `json:"topic" jsonschema:"what is to be found out, in words"`
	Offline bool   `json:"offline,omitempty" jsonschema:"without a search of the web"`
}

type postMortemInput struct {
	PostMortem string `json:"post_mortem" jsonschema:"its path, relative to the top of the working tree"`
}

type noInput struct{}

type unitInput struct {
	Unit string `json:"unit" jsonschema:"the unit of work, such as D-1.1"`
}

type reportInput struct {
	Status    string `json:"status" jsonschema:"such as INFO, DONE or EXIT_BLOCKED"`
	Directive string `json:"directive,omitempty" jsonschema:"the directive that it answers, such as D-1; none: -"`
	Text      string `json:"text" jsonschema:"any words"`
}

// addCommands adds those of git ward's commands that exist here.
func (o *Options) addCommands(s *sdk.Server) {
	add(o, s, "plan", "plan_lint", "Check plans: grammar, machine, files, calls. Every finding comes at once, each with its remedy.", true,
		func(in filesInput) []string { return files([]string{"lint", "--json"}, in.Files) })
	add(o, s, "plan", "plan_analyze", "Say how plans grow (constant, polynomial, exponential) and whether they write.", true,
		func(in plansInput) []string { return files([]string{"lint", "--analyze", "--json"}, in.Plans) })
	add(o, s, "plan", "plan_grammar", "Say how a plan is written, with one whole example.", true, func(in grammarInput) []string {
		if in.Schema {
			return []string{"lint", "--grammar", "--schema"}
		}
		return []string{"lint", "--grammar"}
	})
	add(o, s, "plan", "plan_run", "Execute a plan step by step, a commit a step; one that was begun goes on.", false,
		func(in planInput) []string { return o.forTask([]string{"run"}, "", in.Plan) })
	add(o, s, "task", "task_start", "Begin the work on a directive: orientation, and what the repository knows of it.", false,
		func(in taskInput) []string { return o.forTask([]string{"start"}, in.Task) })
	add(o, s, "task", "task_close", "End the work on a directive: its post-mortem, for you to complete.", false,
		func(in taskInput) []string { return o.forTask([]string{"close"}, in.Task) })
	add(o, s, "orient", "orient", "Say who the agent is, what the repository holds, what the place allows; search for what you do not know.", true,
		func(in orientInput) []string {
			args := []string{"--json"}
			for _, words := range in.Unknowns {
				args = append(args, "--unknown="+words)
			}
			return args
		})
	add(o, s, "research", "research_plan", "Write a plan of research into a topic. research_run executes it.", false, func(in topicInput) []string {
		args := []string{"plan"}
		if in.Offline {
			args = append(args, "--offline")
		}
		return files(args, []string{in.Topic})
	})
	add(o, s, "research", "research_run", "Execute a plan of research; its report is in the working tree then.", false,
		func(in planInput) []string { return o.forTask([]string{"run"}, "", in.Plan) })
	add(o, s, "knowledge", "knowledge_find", "Search what is here: documents, symbols, dependencies, files, history, lessons, post-mortems.", true,
		func(in wordsInput) []string {
			args := []string{"find"}
			if in.Deep {
				args = append(args, "--deep")
			}
			if len(in.In) > 0 {
				args = append(args, "--in="+strings.Join(in.In, ","))
			}
			return files(args, []string{in.Words})
		})
	add(o, s, "knowledge", "knowledge_build", "Build the index of symbols and dependencies, and say what it covers.", false,
		func(noInput) []string { return []string{"build"} })
	add(o, s, "udc", "udc_check", "Say all that is wrong with the text of UDC plans.", true,
		func(in udcInput) []string { return files([]string{"check", "--json"}, in.Files) })
	add(o, s, "udc", "udc_run", "Run UDC plans under limits and give their registers, tape and output.", true, runArgs)
	add(o, s, "udc", "udc_analyze", "Say whether UDC plans end, with a proof where there is one.", true,
		func(in udcInput) []string { return files([]string{"check", "--analyze", "--json"}, in.Files) })
	add(o, s, "lesson", "lesson_list", "List the lessons of earlier work.", true, func(in lessonInput) []string {
		args := []string{"list", "--json"}
		if in.All {
			args = append(args, "--all")
		}
		return args
	})
	add(o, s, "lesson", "lesson_extract", "Turn the lessons of a post-mortem into lines that programs carry out.", false,
		func(in postMortemInput) []string { return files([]string{"extract"}, []string{in.PostMortem}) })
	add(o, s, "uow", "uow_show", "Show a unit of work: its state, budget and history.", true,
		func(in unitInput) []string { return files([]string{"show", "--json"}, []string{in.Unit}) })
	add(o, s, "report", "comms_report", "Append a report to COMMS.md of the working tree. Commit and push it to make it count.", false,
		func(in reportInput) []string {
			args := []string{"--append", "--status=" + in.Status, "-m=" + in.Text}
			if in.Directive != "" {
				args = append(args, "--directive="+in.Directive)
			}
			return args
		})
}

func runArgs(in udcRunInput) []string {
	args := []string{"run", "--json"}
	if in.MaxInstructions != 0 {
		args = append(args, "--max-instructions="+strconv.FormatInt(in.MaxInstructions, 10))
	}
	if in.MaxCells != 0 {
		args = append(args, "--max-cells="+strconv.FormatInt(in.MaxCells, 10))
	}
	if in.MaxTime != "" {
		args = append(args, "--max-time="+in.MaxTime)
	}
	return files(args, in.Files)
}

// forTask adds the task, if one is given or checked out, and names that are not options.
func (o *Options) forTask(args []string, task string, names ...string) []string {
	if task = cmp.Or(task, o.Task); task != "" {
		args = append(args, "--task-id="+task)
	}
	if len(names) == 0 {
		return args
	}
	return files(args, names)
}

// files adds arguments that are not options, whatever they look like.
func files(args, names []string) []string { return append(append(args, "--"), names...) }

// add offers a command as a tool with typed arguments, if it exists here. reads says that it
// changes nothing, for clients that ask before changes.
func add[In any](o *Options, s *sdk.Server, word, name, doc string, reads bool, args func(In) []string) {
	command := o.Commands[word]
	if command == nil {
		return
	}
	closed := false
	t := &sdk.Tool{Name: name, Description: doc, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: reads, DestructiveHint: &closed, OpenWorldHint: &closed}}
	if schema, err := jsonschema.For[In](nil); err == nil { // else the library says what is wrong with the type
		for _, p := range schema.Properties {
			if n := len(p.Types); n > 0 { // null, or what it is: early clients know one type only, and leave out the tool
				p.Type, p.Types = p.Types[n-1], nil
			}
		}
		t.InputSchema = schema
	}
	sdk.AddTool(s, t, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, answer, error) {
		a := run(ctx, command, args(in))
		return &sdk.CallToolResult{IsError: a.Exit == 2, Content: []sdk.Content{&sdk.TextContent{Text: a.String()}}}, a, nil
	})
}

// String is the answer as a model reads it best: what was printed, not a string of JSON in
// a string of JSON, as the library would have it.
func (a answer) String() string {
	var b strings.Builder
	for _, object := range a.Results {
		diag.WriteJSON(&b, object) // decoded from JSON: cannot fail
	}
	b.WriteString(a.Text)
	if a.Exit != 0 {
		fmt.Fprintf(&b, "[exit %d]\n", a.Exit)
	}
	if b.Len() == 0 {
		return "[exit 0]\n"
	}
	return b.String()
}

// run runs a command and parses its output.
func run(ctx context.Context, command Command, args []string) answer {
	var out, errs bytes.Buffer
	a := answer{Exit: command(ctx, args, &out, &errs), Results: []any{}}
	if out.Len() > maxAnswer {
		fmt.Fprintf(&errs, "the answer has %d bytes, more than %d: ask for less at once\n", out.Len(), maxAnswer)
		out.Reset()
	}
	var text strings.Builder
	for line := range strings.Lines(out.String()) {
		var object map[string]any
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber() // registers have 64 bits
		if strings.HasPrefix(line, "{") && decoder.Decode(&object) == nil {
			a.Results = append(a.Results, object)
		} else {
			text.WriteString(line)
		}
	}
	a.Text = text.String() + errs.String()
	return a
}
