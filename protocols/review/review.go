package review

import (
	"fmt"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// Review is everything about a directive's work, as `git ward review --json` prints it.
type Review struct {
	Standing
	Outcome string         `json:"outcome"` // one line
	Text    diag.Untrusted `json:"text"`    // the directive as control has it
	// Base is the merge base of the work and the project; the review shows the difference from
	// Base to Commit.
	Base     string         `json:"base"`
	Project  string         `json:"project"` // tip of the project's branch
	Record   string         `json:"record"`  // the record's ref
	Merge    Merge          `json:"merge"`
	Criteria []Criterion    `json:"criteria"`
	Word     *loop.Verdict  `json:"certificate"` // the host's verdict, whole; null while there is none
	Touched  Touched        `json:"touched"`
	Changes  []Change       `json:"changes"`
	Patch    diag.Untrusted `json:"patch"`         // as git prints it
	Omitted  int64          `json:"patch_omitted"` // bytes of the patch that did not fit; 0 for none
	Said     []Said         `json:"said"`          // the agent's texts, which prove nothing
	Cost     Cost           `json:"cost"`
	Refused  []Refused      `json:"refused"`  // addresses that the fence refused to the agent, without duplicates
	Commands []string       `json:"commands"` // what to type next, likeliest first
}

// Merge describes the project after taking the work.
type Merge struct {
	Moved     bool             `json:"moved"`     // the project has commits after Base
	Judged    bool             `json:"judged"`    // the merged tree is the judged one, apart from paths that loop.Free allows
	Beside    []diag.Untrusted `json:"beside"`    // some of the paths that differ from the judged tree
	Conflicts []diag.Untrusted `json:"conflicts"` // paths that git cannot merge
	Unrelated bool             `json:"unrelated"` // the work shares no history with the project
}

// Unjudged reports whether git merges the work cleanly but no verdict is on the merged tree.
func (m *Merge) Unjudged() bool { return m.Moved && !m.Judged && len(m.Conflicts) == 0 }

// Criterion is one criterion of the directive and its result on the host.
type Criterion struct {
	Text     diag.Untrusted `json:"text"`
	Command  diag.Untrusted `json:"command"`   // "" for none
	Result   string         `json:"result"`    // met, not met, not run
	ExitCode *int           `json:"exit_code"` // null if it did not run to its end
	Trouble  diag.Untrusted `json:"trouble"`   // why not
	Tail     diag.Untrusted `json:"tail"`      // the end of its output, if it was not met
	Place    string         `json:"place"`     // its member of the certificate, such as criteria[0]; "" if not run
	// Control describes the result of its controls and whether it was met before the work; "" if
	// neither was tried.
	Control string `json:"control"`
	// Separate says that none of its tests shares a process with the work, or that it is held out.
	Separate bool `json:"separate"`
}

// Said is a text by the agent.
type Said struct {
	Where string         `json:"where"` // its source: the end of an iteration, a report, a commit
	Text  diag.Untrusted `json:"text"`
}

// Refused is an address that the agent tried to reach and that the fence refused.
type Refused struct {
	Address diag.Untrusted `json:"address"`
	Setting string         `json:"setting"` // the setting that would allow it; "" for none
}

// Criteria returns the declared criteria, each with its result in v; v may be nil. After them come
// criteria that v judged and that the directive no longer has.
func Criteria(declared [][2]string, v *loop.Verdict) []Criterion {
	list := []Criterion{}
	used := map[int]bool{}
	find := func(text, command string) int {
		if v != nil {
			for i, o := range v.Criteria {
				if o.Criterion == text && o.Command == command && !used[i] {
					used[i] = true
					return i
				}
			}
		}
		return -1
	}
	for _, d := range declared {
		c := Criterion{Text: diag.Untrusted(d[0]), Command: diag.Untrusted(d[1]), Result: "not run"}
		if i := find(d[0], d[1]); i >= 0 {
			c = judged(v.Criteria[i], fmt.Sprintf("criteria[%d]", i))
		}
		list = append(list, c)
	}
	if v == nil {
		return list
	}
	for i, o := range v.Criteria {
		if !used[i] {
			list = append(list, judged(o, fmt.Sprintf("criteria[%d]", i)))
		}
	}
	for _, beside := range []struct {
		outcome     *loop.Outcome
		place, name string
	}{{v.ResidualRun, "residual_run", "residual"}, {v.Suite, "suite", "[verify] suite"}, {v.Validate, "validate", "[bootstrap] validate"}} {
		if beside.outcome != nil {
			list = append(list, judgedBeside(*beside.outcome, beside.place, beside.name))
		}
	}
	return list
}

// judgedBeside returns the result of the residual, suite or validation command under a name for people.
func judgedBeside(o loop.Outcome, place, name string) Criterion {
	o.Criterion = fmt.Sprintf("%s (`%s`)", name, o.Command)
	return judged(o, place)
}

func judged(o loop.Outcome, place string) Criterion {
	c := Criterion{Text: diag.Untrusted(o.Criterion), Command: diag.Untrusted(o.Command), Result: "not met", Trouble: diag.Untrusted(o.Trouble), Place: place}
	if o.Trouble == "" {
		c.ExitCode = &o.ExitCode
	}
	c.Control, c.Separate = loop.ControlWords(o.Control, o.Before), o.Process == loop.SeparateProcess
	if o.Passed() {
		c.Result = "met"
	} else {
		c.Tail = diag.Untrusted(o.Tail)
	}
	return c
}
