package gateway

import (
	"net/http"

	"git-ward/protocols/comms"
)

// The names of settings that limit the usage of a directive or a launch, as people know them.
const (
	tokensSetting = "[budget] tokens"
	costSetting   = "[budget] cost"
	timeSetting   = "[budget] time"
)

// bounds are a directive's budget, and the setting behind each of its two numbers.
type bounds struct {
	Budget
	tokensBy, costBy string
}

// bounds takes the smaller of the host's grant and the limit in the directive's text: a
// directive can never raise the host's.
func (c *Config) bounds(directive string) (bounds, error) {
	b := bounds{c.Budget, tokensSetting, costSetting}
	own, err := c.Payer.Own(directive)
	if err != nil {
		c.Log.Warn().Str("directive", directive).Err(err).Msg("what the directive may use cannot be read")
		return b, refusef(http.StatusServiceUnavailable, "the host cannot read what %s may use", directive)
	}
	if own.Tokens < b.Tokens {
		b.Tokens, b.tokensBy = own.Tokens, comms.KeyMaxTokens
	}
	if own.Cost < b.Cost {
		b.Cost, b.costBy = own.Cost, comms.KeyMaxCost
	}
	return b, nil
}

// names is the setting behind the number that a call exceeded.
func (b bounds) names(s *spent) string {
	if s.money() {
		return b.costBy
	}
	return b.tokensBy
}
