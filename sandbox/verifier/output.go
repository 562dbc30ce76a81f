package verifier

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"sync"

	"git-ward/internal/diag"
)

const (
	tailSize = 4 << 10 // bytes of output that a verdict shows
	lineSize = 4 << 10 // bytes of the last line of stdout
	keptSize = 1 << 20 // bytes of an output that is kept
)

// output collects both streams of a command as they come.
type output struct {
	limit int64
	full  func() // called once, when the limit is passed

	mu    sync.Mutex
	total int64
	sum   hash.Hash
	tail  []byte
	last  []byte // of stdout, at most twice as long as needed
	cut   bool   // last has lost its beginning
	keep  bool   // said is filled
	said  []byte // the beginning, at most keptSize
}

func newOutput(limit int64, kept bool, full func()) *output {
	return &output{limit: limit, full: sync.OnceFunc(full), sum: sha256.New(), keep: kept}
}

// flooded reports whether the output exceeded its limit.
func (o *output) flooded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total > o.limit
}

// fill copies the output into an outcome.
func (o *output) fill(to *Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	to.Bytes, to.SHA256 = o.total, hex.EncodeToString(o.sum.Sum(nil))
	to.Tail = endOf(o.tail, tailSize, o.total > int64(len(o.tail)))
	to.Said = strings.ToValidUTF8(string(o.said), "�")
	last := bytes.TrimRight(o.last, " \t\r\n")
	begin := bytes.LastIndexByte(last, '\n') + 1
	if line := bytes.TrimSpace(last[begin:]); len(line) <= lineSize && (begin > 0 || !o.cut) { // the end of a line is not the line
		to.LastLine = strings.ToValidUTF8(string(line), "�")
	}
}

// endOf returns at most size bytes of a text's end, as valid UTF-8. If the text was cut, here or before,
// it drops the partial word at the beginning, because a part of a secret would not be recognized later.
func endOf(text []byte, size int, cut bool) string {
	if len(text) > size {
		text, cut = text[len(text)-size:], true
	}
	if cut {
		text = []byte(diag.EndWord(string(text)))
	}
	return strings.ToValidUTF8(string(text), "�")
}

// stream is one of the two streams.
type stream struct {
	*output
	stdout bool
}

// Write never fails: a command with too much output is ended, and sees no write error.
func (s stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.total += int64(len(p))
	over := s.total > s.limit
	s.sum.Write(p)
	s.tail = keep(s.tail, p, tailSize)
	if s.keep {
		s.said = append(s.said, p[:min(len(p), keptSize-len(s.said))]...)
	}
	if s.stdout {
		s.cut = s.cut || len(s.last)+len(p) > 2*(lineSize+1)
		s.last = keep(s.last, p, lineSize+1)
	}
	s.mu.Unlock()
	if over {
		s.full()
	}
	return len(p), nil
}

// keep appends, and drops the beginning when there are more than twice size bytes.
func keep(have, more []byte, size int) []byte {
	have = append(have, more...)
	if len(have) > 2*size {
		have = append(have[:0], have[len(have)-size:]...)
	}
	return have
}
