package mcp

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"git-ward/agent/interaction"
	"git-ward/internal/diag"
)

type askInput struct {
	Question string `json:"question" jsonschema:"one question, with what you would do without an answer"`
}

type askOutput struct {
	Asked bool   `json:"asked"`
	Text  string `json:"text"`
}

// addAsk offers a question to the PM (WORK-1). A person answers it hours later, so the worker
// has to end; its next run gets the answer.
func (o *Options) addAsk(s *sdk.Server) {
	t := &sdk.Tool{Name: "ask", Description: "Ask the PM what only the PM can know. Then end your turn: the unit of work waits, and the answer comes with the next run."}
	sdk.AddTool(s, t, func(_ context.Context, _ *sdk.CallToolRequest, in askInput) (*sdk.CallToolResult, askOutput, error) {
		err := writeQuestion(o.Ask, in.Question)
		switch {
		case errors.Is(err, fs.ErrExist):
			return nil, askOutput{true, "A question is asked already, and only the first counts. End your turn now."}, nil
		case err != nil:
			return nil, askOutput{}, err
		}
		return nil, askOutput{true, "Asked. End your turn now; the answer reaches the next run."}, nil
	})
}

// writeQuestion writes a question to a file that does not exist yet.
func writeQuestion(path, question string) error {
	question = strings.TrimSpace(diag.CleanLines(diag.Cut(strings.ToValidUTF8(question, ""), interaction.MaxQuestion-4)))
	if question == "" {
		return errors.New("the question is empty")
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(question + "\n")
	return errors.Join(err, f.Close())
}
