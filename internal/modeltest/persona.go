package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Temper is the working style of a model that never heard of Ward.
type Temper string

// The tempers. All but the last ones can do the work.
const (
	Prose       Temper = "prose"        // says what it would do, and plans when it is told again
	List        Temper = "list"         // plans in a list of Markdown, in its words
	JSONPlan    Temper = "JSON plan"    // calls the tool plan, wrongly at first
	WritesFirst Temper = "writes first" // does the work, and never plans
	OwnOrder    Temper = "own order"    // works by the shell, commits by itself, plans last, in a fence
	Silent      Temper = "silent"       // does the work and says nothing
	Half        Temper = "half"         // does half of it at first, and says all
	Asks        Temper = "asks"         // asks by the tool where it does not know
	AsksInWords Temper = "asks in words"
	SaysDone    Temper = "says done" // does nothing
	Stubborn    Temper = "stubborn"  // never does more than talk
	Loops       Temper = "loops"     // runs a command that fails, for ever
	Cuts        Temper = "cuts"      // each second answer ends in its middle
	Twice       Temper = "twice"     // makes each call twice in a turn
	OtherTools  Temper = "other tools"
	Foreign     Temper = "foreign"  // speaks other languages
	Declines    Temper = "declines" // its provider refuses to go on
)

// Persona plays a model of a temper, which knows what it is told and nothing else: the
// directive, what decides, the tools with their schemas, what they gave, what the PM says.
// It can write a word into a file, as in
//
//	Write the word plum into the file note.txt.
//
// and where the directive names no word, the PM has to.
func Persona(temper Temper) func(*Request) Turn {
	return func(r *Request) Turn {
		switch {
		case len(r.Tools) == 0:
			return Turn{Text: `{"tried":["wrote the file"],"succeeded":[],"failed":[],"open":[],"diagnosis":""}`}
		case strings.Contains(r.Told, "You are the Scout"):
			return Turn{Text: "The directive wants one file. Nothing stands in the way."}
		case temper == SaysDone || temper == Stubborn && r.Turns >= 0:
			return Turn{Text: map[Temper]string{SaysDone: "Done. Everything works.", Stubborn: "One would write the file, and then look at it."}[temper]}
		}
		j := read(r)
		if strings.Contains(r.User, "All steps of the plan are done") {
			return j.lastWords(temper)
		}
		return personas[temper](r, j)
	}
}

var personas = map[Temper]func(*Request, job) Turn{
	Prose: func(r *Request, j job) Turn {
		switch {
		case !strings.Contains(r.Told, "The plan is not executed"):
			return Turn{Text: "I would write " + j.word + " into " + j.file + ", and then submit it."}
		case !slices.Contains(r.Made, "plan"):
			return j.plans(r)
		}
		return Turn{Text: "That is the plan."}
	},
	List: func(r *Request, j job) Turn {
		if !strings.Contains(r.Told, "create_file_with_block") {
			return Turn{Text: "1. Write " + j.file + "\n2. Look at it\n"}
		}
		return Turn{Text: fmt.Sprintf("This is how I go about it:\n\n1. **set_plan** %s\n2. `plan_step_complete the directive is read`\n3. create_file_with_block `%s`:\n\n   ```\n   %s\n   ```\n\n4. run_in_bash_session `%s`\n5. run_in_bash_session git ward task close --task-id %s\n6. submit\n",
			j.title, j.file, j.word, j.commands[0], j.directive)}
	},
	JSONPlan: func(r *Request, j job) Turn {
		switch tries := count(r.Made, "plan"); {
		case tries == 0:
			return Turn{Calls: []Call{{Name: "plan", Args: `{"steps": [{"tool": "make_file", "arguments": "x"}]}`}}}
		case tries == 1:
			return j.plans(r)
		}
		return Turn{Text: "That is the plan."}
	},
	WritesFirst: workAndSay("I wrote the file, and the commands pass."),
	Silent:      workAndSay(""),
	OwnOrder: func(r *Request, j job) Turn {
		switch len(r.Made) - briefed(r) {
		case 0:
			return Turn{Calls: []Call{bash(fmt.Sprintf("git checkout -q -b mine && echo %s >%s && git add -A && git commit -qm mine && %s", j.word, j.file, j.commands[0]))}}
		case 1:
			plan := fmt.Sprintf("set_plan %s\n---\nplan_step_complete it is written\n---\nrun_in_bash_session %s\n---\nrun_in_bash_session git ward task close --task-id %s\n---\nsubmit\n", j.title, j.commands[0], j.directive)
			return Turn{Calls: []Call{tool("write_file", "path", j.planPath, "content", "My plan:\n\n```\n"+plan+"```\n")}}
		}
		return Turn{Text: "It is all there."}
	},
	Half: func(r *Request, j job) Turn {
		if j.iteration == 0 {
			j.word = "half"
		}
		return workAndSay("All is done, and it works.")(r, j)
	},
	Asks: func(r *Request, j job) Turn {
		switch {
		case j.word != "":
			return workAndSay("I wrote the PM's word.")(r, j)
		case !slices.Contains(r.Made, "ask"):
			return Turn{Text: "I do not know the word.", Calls: []Call{tool("ask", "question", "Which word shall "+j.file+" hold?")}}
		}
		return Turn{Text: "I wait."}
	},
	AsksInWords: func(r *Request, j job) Turn {
		if j.word != "" {
			return workAndSay("I wrote the PM's word.")(r, j)
		}
		return Turn{Text: "Before I begin: which word shall " + j.file + " hold?"}
	},
	Cuts: func(r *Request, j job) Turn {
		t := workAndSay("I wrote the file, and the commands pass.")(r, j)
		if r.N%2 == 0 {
			t.Fault = Fault{Cut: 3}
		}
		return t
	},
	Twice: func(r *Request, j job) Turn {
		t := workAndSay("I wrote the file, and the commands pass.")(r, j)
		t.Calls = append(t.Calls, t.Calls...)
		return t
	},
	OtherTools: func(r *Request, j job) Turn {
		if !slices.Contains(r.Made, "str_replace_editor") {
			return Turn{Calls: []Call{tool("str_replace_editor", "command", "create", "path", j.file, "file_text", j.word)}}
		}
		return workAndSay("I wrote the file, and the commands pass.")(r, j)
	},
	Foreign:  workAndSay("Die Datei ist geschrieben. 書きました。 Готово."),
	Declines: func(*Request, job) Turn { return Turn{Text: "I cannot help with that.", Stop: Refused} },
	Loops: func(*Request, job) Turn {
		return Turn{Calls: []Call{bash("make no-such-target-anywhere")}}
	},
}

// workAndSay writes the file, runs what decides, and ends with words, however often it is
// asked.
func workAndSay(words string) func(*Request, job) Turn {
	return func(r *Request, j job) Turn {
		switch {
		case !slices.Contains(r.Made, "write_file"):
			return Turn{Calls: []Call{tool("write_file", "path", j.file, "content", j.word+"\n")}}
		case !slices.Contains(r.Made, "bash"):
			return Turn{Calls: []Call{bash(j.commands[0])}}
		}
		return Turn{Text: words}
	}
}

// job is what a persona reads in its prompt.
type job struct {
	directive, title string
	word, file       string // "" for a word that nobody has said
	commands         []string
	planPath         string
	iteration        int
}

var (
	heading  = regexp.MustCompile(`(?m)^### (D-[0-9]+): (.*)$`)
	wanted   = regexp.MustCompile(`Write (?:the word (\S+)|.*) into the file (\S+)\.\s`)
	deciding = regexp.MustCompile("(?m)^- `(.*)`$")
	goesTo   = regexp.MustCompile(`or write it to (\S+?)\. Then`)
	said     = regexp.MustCompile(`(?s)# What the PM says.*?\n- ([^\n]*)\n`)
	numbered = regexp.MustCompile(`iteration_number\\*":([0-9]+)`)
)

// read finds the job in what was told.
func read(r *Request) (j job) {
	_, own, _ := strings.Cut(r.Told, "# Your directive:")
	if m := heading.FindStringSubmatch(own); m != nil {
		j.directive, j.title = m[1], m[2]
	}
	if m := wanted.FindStringSubmatch(own); m != nil {
		j.word, j.file = m[1], m[2]
	}
	for _, m := range deciding.FindAllStringSubmatch(own, -1) {
		j.commands = append(j.commands, m[1])
	}
	if j.commands == nil {
		j.commands = []string{"true"}
	}
	if m := goesTo.FindStringSubmatch(own); m != nil {
		j.planPath = m[1]
	}
	if m := said.FindStringSubmatch(own); m != nil && j.word == "" {
		j.word = m[1]
	}
	for _, m := range numbered.FindAllSubmatch(r.Body, -1) {
		fmt.Sscan(string(m[1]), &j.iteration)
	}
	return j
}

// lastWords are those after a plan was executed.
func (j job) lastWords(temper Temper) Turn {
	if temper == Silent {
		return Turn{}
	}
	return Turn{Text: j.file + " holds the word " + j.word + "."}
}

// plans calls the tool plan, if its schema has the steps that this one writes.
func (j job) plans(r *Request) Turn {
	if !r.Has("plan") || !bytes.Contains(r.Body, []byte("create_file_with_block")) || !bytes.Contains(r.Body, []byte(`"steps"`)) {
		return Turn{Text: "Nobody told me how a plan is written."}
	}
	step := func(tool, arguments, block string) map[string]string {
		return map[string]string{"tool": tool, "arguments": arguments, "block": block}
	}
	steps := []map[string]string{step("set_plan", "", j.title+"\n"), step("plan_step_complete", "the directive is read", ""),
		step("create_file_with_block", j.file, j.word+"\n")}
	for _, c := range j.commands {
		steps = append(steps, step("run_in_bash_session", c, ""))
	}
	steps = append(steps, step("run_in_bash_session", "git ward task close --task-id "+j.directive, ""), step("submit", "", ""))
	data, _ := json.Marshal(map[string]any{"steps": steps}) // texts: cannot fail
	return Turn{Calls: []Call{{Name: "plan", Args: string(data)}}}
}

// tool is a call with arguments in pairs.
func tool(name string, pairs ...string) Call {
	args := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	data, _ := json.Marshal(args) // texts: cannot fail
	return Call{Name: name, Args: string(data)}
}

func bash(command string) Call { return tool("bash", "command", command) }

func count(list []string, word string) (n int) {
	for _, w := range list {
		if w == word {
			n++
		}
	}
	return n
}

// briefed counts the call that Ward puts into a model's mouth: its capsule.
func briefed(r *Request) int {
	if bytes.Contains(r.Body, []byte("cnf_capsule.json")) {
		return 1
	}
	return 0
}
