package launch

import (
	"io"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/internal/logfile"
)

// What one source of lines that the agent can make come may write: into the log of the
// repository's services, and to people. The agent's own output has a share, too, where
// it goes into a log. A day of any of them leaves what the launcher itself says.
const (
	sourceBurst, sourcePerMinute = 1 << 20, 16 << 10
	wordsBurst, wordsPerMinute   = 64 << 10, 4 << 10
	agentBurst, agentPerMinute   = 1 << 20, 8 << 10
)

// logOf is the log of one source, with a share of its own: what the agent makes one
// service say drives out nothing that another said.
func (l *launch) logOf(source string) zerolog.Logger {
	file := logfile.Limit(l.file, logfile.Share{Burst: sourceBurst, PerMinute: sourcePerMinute, Told: logfile.JSON(source)})
	return logger(file, l.words())
}

// words is a way to people with a share of its own.
func (l *launch) words() io.Writer {
	return logfile.Limit(l.spec.Messages, logfile.Share{Burst: wordsBurst, PerMinute: wordsPerMinute, Told: logfile.Text})
}

// AgentShare limits what an agent's output may take of a log; its Flush is for the end.
func AgentShare(log io.Writer) *logfile.Limited {
	return logfile.Limit(log, logfile.Share{Burst: agentBurst, PerMinute: agentPerMinute, Told: logfile.Text})
}

// logger writes JSON lines to the file, and errors for people to messages.
func logger(file, messages io.Writer) zerolog.Logger {
	console := zerolog.ConsoleWriter{Out: diag.NewScreen(messages), NoColor: true}
	errorsOnly := &zerolog.FilteredLevelWriter{Writer: zerolog.LevelWriterAdapter{Writer: console}, Level: zerolog.ErrorLevel}
	return zerolog.New(zerolog.MultiLevelWriter(diag.JSONLines{Out: file}, errorsOnly)).With().Timestamp().Logger()
}
