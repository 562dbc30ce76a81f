package orient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// QueryWord stands for the escaped words in a search's address.
const QueryWord = "{query}"

// HTTPSearch searches by a GET of an address that holds QueryWord. The answer is
// text as it comes, cut to what a report keeps, made safe for a terminal.
func HTTPSearch(address string) (func(ctx context.Context, query string) (string, error), error) {
	u, err := url.Parse(strings.ReplaceAll(address, QueryWord, "x"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !strings.Contains(address, QueryWord) {
		return nil, fmt.Errorf("%q is not the address of a search: http(s), with %s in it", address, QueryWord)
	}
	client := &http.Client{Timeout: 30 * time.Second}
	return func(ctx context.Context, query string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(address, QueryWord, url.QueryEscape(query)), nil)
		if err != nil {
			return "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return "", fmt.Errorf("the search answers %s", resp.Status)
		}
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return "", err
		}
		for len(data) > 0 && !utf8.Valid(data) { // cut within a character
			data = data[:len(data)-1]
		}
		var lines []string
		for line := range strings.Lines(string(data)) {
			lines = append(lines, diag.Clean(strings.TrimRight(line, "\r\n")))
		}
		return strings.Join(lines, "\n"), nil
	}, nil
}
