package modeltest

import (
	"io"
	"net/http"
	"time"
)

// event is one of a stream's: its name, which Chat Completions do not have, and
// its data, a JSON text or the word that ends a stream.
type event struct {
	name string
	data []byte
}

func (e event) String() string {
	text := "data: " + string(e.data) + "\n\n"
	if e.name != "" {
		text = "event: " + e.name + "\n" + text
	}
	return text
}

// send writes a stream with its fault.
func send(w http.ResponseWriter, a *api, events []event, f Fault) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	for i, e := range events {
		n := i + 1
		if n == f.Malformed {
			e.data = []byte(`{"type": "content_block_delta", "delta": {{{`)
		}
		write(w, e.String(), f.Slow)
		switch {
		case n == f.Cut:
			panic(http.ErrAbortHandler)
		case n == 1 && f.Error != "":
			write(w, a.stream(f).String(), 0)
			return
		case n == f.Silent:
			stall(w)
			return
		}
	}
}

// stall keeps the connection open until the client hangs up or a minute is over.
func stall(w http.ResponseWriter) {
	for range 600 {
		time.Sleep(100 * time.Millisecond) // a provider that is silent
		// A comment is no event: it only finds out whether somebody is there.
		if _, err := io.WriteString(w, ":\n"); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
	}
}

func write(w http.ResponseWriter, text string, slow time.Duration) {
	flush := http.NewResponseController(w).Flush
	for slow > 0 && len(text) > 7 {
		io.WriteString(w, text[:7])
		flush()
		time.Sleep(slow) // a provider that is slow
		text = text[7:]
	}
	io.WriteString(w, text)
	flush()
}
