package receive

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
)

// maxLine bounds one line of git's: a packet line holds 65,520 bytes.
const maxLine = 1 << 16

// readUpdates reads `old SP new SP ref LF` lines (githooks(5)) as far as the audit can store
// them. The rest is counted and hashed: such a push is refused, and its record says so.
func readUpdates(r io.Reader) (updates []push.Update, input []byte, omitted *audit.Omitted, err error) {
	lines := bufio.NewReaderSize(r, maxLine)
	size, beyond := 0, sha256.New()
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, nil, fmt.Errorf("standard input: %w", err)
		}
		text := strings.TrimSuffix(string(line), "\n")
		u, err := parseUpdate(text)
		if err != nil {
			return nil, nil, nil, err
		}
		size += audit.SizeOf(u.Ref)
		if omitted != nil || len(updates) == audit.MaxRefs || size > audit.MaxRefBytes {
			if omitted == nil {
				omitted = &audit.Omitted{}
			}
			omitted.Refs++
			beyond.Write([]byte(text + "\n"))
			continue
		}
		updates = append(updates, u)
		input = append(input, line...)
	}
	if len(updates) == 0 {
		return nil, nil, nil, errors.New("no ref update on standard input: a hook is started by git receive-pack, not by hand")
	}
	if omitted != nil {
		omitted.SHA256 = hex.EncodeToString(beyond.Sum(nil))
	}
	return updates, input, omitted, nil
}

// parseUpdate reads one line, without its end.
func parseUpdate(text string) (push.Update, error) {
	old, rest, ok1 := strings.Cut(text, " ")
	id, ref, ok2 := strings.Cut(rest, " ")
	if !ok1 || !ok2 || ref == "" {
		return push.Update{}, fmt.Errorf("%q on standard input is not a ref update", text[:min(len(text), 200)])
	}
	return push.Update{Ref: ref, Old: old, New: id}, nil
}

// maxOptions is how many push options are read.
const maxOptions = 1000

var errTooManyOptions = fmt.Errorf("the push has more than %d options", maxOptions)

// pushOptions are the -o options of the push (githooks(5)); with errTooManyOptions,
// the first of them.
func pushOptions(getenv func(string) string) ([]string, error) {
	count := getenv("GIT_PUSH_OPTION_COUNT")
	if count == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("GIT_PUSH_OPTION_COUNT=%q", count)
	}
	options := make([]string, min(n, maxOptions))
	for i := range options {
		options[i] = getenv("GIT_PUSH_OPTION_" + strconv.Itoa(i))
	}
	if n > maxOptions {
		err = errTooManyOptions
	}
	return options, err
}
