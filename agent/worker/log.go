package worker

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
)

// logSize is how large the log may be when an agent starts, before it goes to
// agent.log.1.
const logSize = 10 << 20

// openLog logs as JSON lines to <state>/logs/agent.log and as text to stderr.
func openLog(state string, stderr io.Writer) (zerolog.Logger, func(), error) {
	dir := filepath.Join(state, "logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return zerolog.Logger{}, nil, err
	}
	path := filepath.Join(dir, "agent.log")
	if info, err := os.Stat(path); err == nil && info.Size() > logSize {
		if err := os.Rename(path, path+".1"); err != nil {
			return zerolog.Logger{}, nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return zerolog.Logger{}, nil, err
	}
	console := zerolog.ConsoleWriter{Out: diag.NewScreen(stderr), NoColor: true, TimeFormat: time.RFC3339, TimeLocation: time.UTC}
	log := zerolog.New(zerolog.MultiLevelWriter(diag.JSONLines{Out: f}, console)).With().Timestamp().Logger()
	return log, func() { f.Close() }, nil
}
