package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"

	"git-ward/internal/diag"
)

// maxKey is the size in bytes of a key file; keys have about a hundred.
const maxKey = 4096

// redacted is what stands where a key stood.
const redacted = "[ward: key removed]"

// Key is a provider's key. It cannot be printed by accident: fmt, encoders and
// loggers get a placeholder.
type Key struct{ value string }

// String is a placeholder.
func (k Key) String() string { return redacted }

// GoString is a placeholder too.
func (k Key) GoString() string { return redacted }

// MarshalText is a placeholder too.
func (k Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.value == "" }

// Reveal is the key itself, for whoever shows it to the provider that gave it.
func (k Key) Reveal() string { return k.value }

// subscription is the prefix of tokens that Anthropic gives subscribers for unattended
// programs (claude setup-token).
const subscription = "sk-ant-oat"

// Subscription reports whether the key is a subscription token. Its calls are not billed one
// by one, so the budget is in tokens, not in money.
func (k Key) Subscription() bool { return strings.HasPrefix(k.value, subscription) }

// anthropicAuth sends a key to Anthropic in the form for its kind.
func anthropicAuth(h http.Header, k Key) {
	if !k.Subscription() {
		h.Set("X-Api-Key", k.value)
		return
	}
	h.Set("Authorization", "Bearer "+k.value)
	betas := append(h.Values("Anthropic-Beta"), "oauth-2025-04-20")
	h.Set("Anthropic-Beta", strings.Join(betas, ","))
}

// Scrub removes the key from a text.
func (k Key) Scrub(s string) string {
	if k.IsZero() {
		return s
	}
	return strings.ReplaceAll(s, k.value, redacted)
}

// NewKey takes a key from the launcher's environment; white space around it is
// dropped. The empty text is no key, and no error.
func NewKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Key{}, errors.New("a key is one word of printable ASCII, and this one is not")
	}
	if text != "" && len(text) < 8 {
		// Redacting so short a text would damage answers.
		return Key{}, fmt.Errorf("a key has at least 8 characters, and this one has %d", len(text))
	}
	return Key{text}, nil
}

// ReadKey reads a key from a private file.
func ReadKey(path string) (Key, error) {
	data, err := ReadPrivate(path)
	if err != nil {
		return Key{}, err
	}
	key, err := NewKey(string(data))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// ReadPrivate reads a file with a secret, which only its owner, the caller, may be able to
// read or write. White space around it is dropped.
func ReadPrivate(path string) ([]byte, error) {
	// NONBLOCK: opening a FIFO would wait for its writer for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch owner := int(info.Sys().(*syscall.Stat_t).Uid); {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case owner != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to user id %d, not to you", path, owner)
	case info.Mode().Perm()&^0o600 != 0:
		return nil, diag.Hint(fmt.Errorf("%s has mode %04o, not 0600", path, info.Mode().Perm()), "chmod 600 %s", diag.Word(path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 || len(data) > maxKey {
		return nil, fmt.Errorf("%s has %d bytes; a key has 8 to %d", path, len(data), maxKey)
	}
	return data, nil
}

// scrubber removes a key from a stream, across chunk boundaries. It holds back only a possible
// beginning of the key, so it does not delay events: an event ends in a line feed, which no
// key contains.
type scrubber struct {
	key  []byte
	kept []byte
}

// next returns what may be sent now. The result is valid until the next call.
func (s *scrubber) next(chunk []byte) []byte {
	if len(s.key) == 0 {
		return chunk
	}
	if len(s.kept) > 0 {
		chunk = append(s.kept, chunk...)
		s.kept = nil
	}
	if bytes.Contains(chunk, s.key) {
		chunk = bytes.ReplaceAll(chunk, s.key, []byte(redacted))
	}
	n := s.beginning(chunk)
	s.kept = bytes.Clone(chunk[len(chunk)-n:])
	return chunk[:len(chunk)-n]
}

// telling is how much of a key may be shown: the first letters of a provider's keys are all
// the same.
const telling = 12

// rest returns what was held back at the end of the stream: a few letters, unless the stream
// was cut inside a key.
func (s *scrubber) rest() []byte {
	if len(s.kept) > telling {
		return []byte(redacted)
	}
	return s.kept
}

// beginning is the length of the longest end of chunk that begins the key.
func (s *scrubber) beginning(chunk []byte) int {
	for n := min(len(s.key)-1, len(chunk)); n > 0; n-- {
		if bytes.HasSuffix(chunk, s.key[:n]) {
			return n
		}
	}
	return 0
}
