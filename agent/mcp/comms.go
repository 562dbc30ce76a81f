package mcp

import (
	"context"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
)

type commsInput struct {
	Directive string `json:"directive,omitempty" jsonschema:"only this directive with its reports and questions, such as D-1"`
}

type commsOutput struct {
	Directives []directive `json:"directives"`
	Reports    []entry     `json:"reports"`
	Questions  []entry     `json:"questions"`
	Findings   []string    `json:"findings" jsonschema:"what is wrong with COMMS.md; what cannot be read is left out above"`
}

type directive struct {
	Name     string      `json:"name"`
	Title    string      `json:"title"`
	State    string      `json:"state" jsonschema:"open, suspended or closed"`
	Hash     string      `json:"hash"`
	Goal     string      `json:"goal"`
	Criteria []criterion `json:"criteria"`
}

type criterion struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty" jsonschema:"decides the criterion: exit 0 is met"`
}

type entry struct {
	Name      string `json:"name"`
	Time      string `json:"time"`
	Directive string `json:"directive"`
	Status    string `json:"status,omitempty"`
	Text      string `json:"text"`
}

// commsFile is COMMS.md of the working tree or, in an adopted project, of the control branch.
func (o *Options) commsFile(ctx context.Context) ([]byte, error) {
	if _, err := os.Stat(filepath.Join(o.Box.Dir, ".git")); err != nil {
		return o.read(comms.Path) // unless the repository says otherwise
	}
	return (&worktree.Tree{Dir: o.Box.Dir}).Document(ctx, comms.Path, maxResource)
}

// addComms offers COMMS.md, taken apart.
func (o *Options) addComms(s *sdk.Server) {
	t := &sdk.Tool{Name: "comms_read", Description: "Read COMMS.md: directives with their state, reports, questions.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}
	sdk.AddTool(s, t, func(ctx context.Context, _ *sdk.CallToolRequest, in commsInput) (*sdk.CallToolResult, commsOutput, error) {
		data, err := o.commsFile(ctx)
		if err != nil {
			return nil, commsOutput{}, err
		}
		return nil, readComms(data, in.Directive), nil
	})
}

func readComms(data []byte, only string) commsOutput {
	out := commsOutput{[]directive{}, []entry{}, []entry{}, []string{}}
	doc, findings := comms.Parse(data)
	for _, f := range findings {
		out.Findings = append(out.Findings, f.String())
	}
	wanted := func(name string) bool { return only == "" || only == name }
	for _, d := range doc.Directives {
		if !wanted(d.Name()) {
			continue
		}
		v := directive{d.Name(), d.Title.Raw(), doc.State(d).String(), d.Hash(), d.Goal, []criterion{}}
		for _, c := range d.Criteria {
			v.Criteria = append(v.Criteria, criterion{c.Text, c.Command})
		}
		out.Directives = append(out.Directives, v)
	}
	for _, r := range doc.Reports {
		if wanted(r.Directive) {
			out.Reports = append(out.Reports, entry{r.Name(), r.Time.Format(time.RFC3339), r.Directive, string(r.Status), r.Text})
		}
	}
	for _, q := range doc.Questions {
		if wanted(q.Directive) {
			out.Questions = append(out.Questions, entry{q.Name(), q.Time.Format(time.RFC3339), q.Directive, "", q.Text})
		}
	}
	return out
}
