package program

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/internal/diag"
)

// AskVariable names the file that takes a question to the PM, in a command's environment:
// who calls no tools can ask by one line of a shell.
const AskVariable = "WARD_ASK"

// askPoll is how often the file is checked.
const askPoll = 250 * time.Millisecond

// askPath is the question's file. It is outside the working tree, so that a question never
// becomes work.
func (p *Program) askPath() string {
	return filepath.Join(p.State, "ask", p.Prompt.Directive.Name()+".md")
}

// listen watches for a question, and ends the command some time after one. The returned
// function stops watching.
func (p *Program) listen(ctx context.Context, end context.CancelCauseFunc) (quiet func(), err error) {
	path := p.askPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := dir.RemoveAll(filepath.Base(path)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		var asked time.Time
		for ctx.Err() == nil {
			question := p.question()
			switch {
			case question == "":
			case asked.IsZero():
				p.Log.Info().Str("question", diag.Clean(question)).Msg("it asks the PM")
				asked = time.Now()
			case time.Since(asked) >= p.AskGrace:
				end(stop.New(stop.Asked, "%s", question))
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(askPoll): // poll: another process writes the file
			}
		}
	}()
	return cancel, nil
}

// question is the command's question, "" for none. The worker writes the file, so only a
// regular file of bounded size is read.
func (p *Program) question() string {
	f, err := os.OpenFile(p.askPath(), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "" // none, or none that can be read
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, interaction.MaxQuestion))
	if err != nil {
		return ""
	}
	text := strings.ToValidUTF8(string(data), "")
	if p.Redact != nil {
		text = p.Redact(text)
	}
	return strings.TrimSpace(diag.CleanLines(text))
}
