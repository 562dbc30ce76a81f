package gateway

import (
	"context"
	"net/url"
)

const costPath = "/ward/cost"

// Cost is what a directive has used of the models in all its launches, as the gateway
// counted it from what the providers answered.
type Cost struct {
	Tokens    *int64 `json:"tokens"`    // nil if nobody counted
	Money     string `json:"money"`     // dollars, a decimal; "" where nobody counted
	Estimated int64  `json:"estimated"` // calls whose usage the provider did not report
	Prices    string `json:"prices"`    // day of the price table, "" where it does not say
}

// ReadCost asks the gateway that serves a model's base URL what a directive cost.
func ReadCost(ctx context.Context, base, directive string) (c Cost, err error) {
	err = ask(ctx, base, &url.URL{Path: costPath, RawQuery: url.Values{"directive": {directive}}.Encode()}, &c)
	return c, err
}
