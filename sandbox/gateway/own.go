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

// bounds are a directive's budget, and what sets each of its two numbers.
type bounds struct {
	Budget
	tokensBy, costBy string
}

// bounds are the smaller ones of what the host grants and what the directive's own text
// allows: a directive never raises what the host's settings say.
func (c *Config) bounds(directive string) (bounds, error) {
	b := bounds{c.Budget(directive), tokensSetting, costSetting}
	if c.Own == nil {
		return b, nil
	}
	own, err := c.Own(directive)
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

// names is what sets the number that a call met.
func (b bounds) names(s *spent) string {
	if s.money() {
		return b.costBy
	}
	return b.tokensBy
}
