// Package gateway is the agent's side of the launcher's gateway, the only way to a model:
// where it is, and whether it paid for a program's calls. What such a program prints about a
// refusal is not trusted.
package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"git-ward/internal/diag"
)

const (
	accountPath = "/ward/account"
	// timeout bounds one request; the gateway is on this host, behind a socket.
	timeout = 10 * time.Second
	// maxBytes bounds the answer.
	maxBytes = 64 << 10
)

// HeldHeader is the header of a refusal that says by a code that the unit is not to be
// worked on now: no call of it is paid for until the PM lets it go on.
const HeldHeader = "Ward-Held"

// The variables in which ward-inside passes the gateway's address for each protocol.
const (
	Anthropic = "ANTHROPIC_BASE_URL"
	OpenAI    = "OPENAI_BASE_URL"
)

// URL is the address in one of these variables. There is always one in a launch.
func URL(getenv func(name string) string, variable string) (string, error) {
	if v := getenv(variable); v != "" {
		return v, nil
	}
	return "", diag.Hint(fmt.Errorf("%s is not set: there is no gateway to reach the model by", variable), "start the agent by `git ward launch`")
}

// Account is the gateway's information about the directive that pays for calls now.
type Account struct {
	Unpaid   int    `json:"unpaid"`   // calls of this launch that were not paid for
	Why      string `json:"why"`      // of the newest call; "" where it was paid for
	Limit    string `json:"limit"`    // that the newest call met, a key of the directive's or a setting; "" where it was paid for
	Held     int    `json:"held"`     // calls refused because the unit may not be worked on
	Answered int    `json:"answered"` // calls that completed
	Failed   int    `json:"failed"`   // calls that failed at the provider
	Barred   int    `json:"barred"`   // calls refused for their model
	Unlisted string `json:"unlisted"` // the newest call's model, if the host's settings do not name it
	Trouble  string `json:"trouble"`  // the code of the newest call's trouble; "" where it was answered
}

// ReadAccount asks the gateway that serves a model's base URL, such as
// "http://127.0.0.1:8080/anthropic".
func ReadAccount(ctx context.Context, base string) (a Account, err error) {
	err = ask(ctx, base, &url.URL{Path: accountPath}, &a)
	return a, err
}

// ask reads one of the gateway's own resources.
func ask(ctx context.Context, base string, path *url.URL, into any) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.ResolveReference(path).String(), nil)
	if err != nil {
		return err
	}
	data, status, err := answer(request)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("the gateway's %s: status %d", path.Path, status)
	}
	return json.Unmarshal(data, into)
}

// answer is the gateway's answer to a request, cut at maxBytes.
func answer(request *http.Request) (data []byte, status int, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // never through a proxy
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	data, err = io.ReadAll(io.LimitReader(response.Body, maxBytes))
	return data, response.StatusCode, err
}

// SpentSince is why the budget has nothing left for the program that ran since an
// earlier account, "" where its newest call was paid for, or it made none.
func (a Account) SpentSince(earlier Account) string {
	if a.Unpaid > earlier.Unpaid {
		return a.Why
	}
	return ""
}

// OutageSince is the code of the trouble that the provider had with the newest call of the
// program that ran since an earlier account, "" where that was answered. A program that
// came to an end of its own has had none, unless not one of its calls was answered.
func (a Account) OutageSince(earlier Account, ended bool) string {
	if a.Failed == earlier.Failed || ended && a.Answered > earlier.Answered {
		return ""
	}
	return a.Trouble
}

// Denies reports whether a code of trouble says that whoever asks is refused, and not that
// the provider fails: it does not pass by itself. The codes are those of sandbox/gateway.
func Denies(code string) bool { return code == "401" || code == "403" || code == Absent }

// Absent is the code of a model that the provider does not have.
const Absent = "404"

// Away reports whether a code of trouble says that another model may do what this one cannot
// now. A key that is refused is refused to all.
func Away(code string) bool { return code == Absent || code != "" && !Denies(code) }

// UnlistedSince is the model that the newest call of the program asked for that ran since an
// earlier account, where the host's settings do not name it; "" where they do.
func (a Account) UnlistedSince(earlier Account) string {
	if a.Barred > earlier.Barred {
		return a.Unlisted
	}
	return ""
}

// HeldSince reports whether the program that ran since an earlier account was refused
// because its unit is not to be worked on.
func (a Account) HeldSince(earlier Account) bool { return a.Held > earlier.Held }
