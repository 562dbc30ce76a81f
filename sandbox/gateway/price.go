package gateway

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/pattern"
)

// Money is an amount of US dollars in units of 10^-12: exact for every price of
// up to six decimals per million tokens, without a float on the way.
type Money int64

const dollar Money = 1_000_000_000_000

const (
	decimals = 12
	million  = 1_000_000
	// maxMoney bounds a setting, so that sums of settings fit.
	maxMoney = 1_000_000 * dollar
)

// Unlimited is a budget of tokens or money that never runs out.
const Unlimited = math.MaxInt64

var decimalText = pattern.New(`^(\d{1,7})(?:\.(\d{1,12}))?$`)

// ParseMoney reads a decimal text of dollars, such as "2.50": no sign, no
// exponent, at most twelve decimals and a million dollars.
func ParseMoney(text string) (Money, error) {
	m := decimalText.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is not an amount of dollars such as \"2.50\"", text)
	}
	whole, _ := strconv.ParseInt(m[1], 10, 64)
	part, _ := strconv.ParseInt(m[2]+strings.Repeat("0", decimals-len(m[2])), 10, 64)
	v := Money(whole)*dollar + Money(part)
	if v > maxMoney {
		return 0, fmt.Errorf("%q is more than a million dollars", text)
	}
	return v, nil
}

// String is the decimal text of dollars, with two decimals at least.
func (m Money) String() string {
	text := fmt.Sprintf("%d.%012d", m/dollar, m%dollar)
	short := strings.TrimRight(text, "0")
	return text[:max(len(short), strings.IndexByte(text, '.')+3)]
}

// MarshalText writes String's form: money is no JSON number (LOOP-2).
func (m Money) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText wrote, which may be beyond ParseMoney's
// limit.
func (m *Money) UnmarshalText(text []byte) error {
	whole, part, _ := strings.Cut(string(text), ".")
	w, err1 := strconv.ParseUint(whole, 10, 63)
	p, err2 := strconv.ParseUint(part+strings.Repeat("0", max(0, decimals-len(part))), 10, 63)
	if err1 != nil || err2 != nil || len(part) > decimals || w > uint64(math.MaxInt64/dollar)-1 {
		return fmt.Errorf("%q is not an amount of dollars", text)
	}
	*m = Money(w)*dollar + Money(p)
	return nil
}

// Price is what a model costs, in dollars per million tokens. CacheWrite is for
// five minutes, CacheWriteLong for an hour.
type Price struct {
	Input, Output, CacheRead, CacheWrite, CacheWriteLong Money
}

// PriceSetting is a line of the price table as the settings have it: decimal
// texts per million tokens. Model is a name, which also stands for its dated
// versions (-20250929, -2025-08-07, -latest), or a beginning that ends in *.
// Empty cache prices have the worst value: that of the input for reading, twice
// that for writing.
type PriceSetting struct {
	Model, Input, Output, CacheRead, CacheWrite, CacheWriteLong string
}

// Prices knows what models cost. An unknown model has the highest known price, so that a name
// without a price is never the cheap one.
type Prices struct {
	known   map[string]Price
	unknown Price
}

// ReadPrices reads the table of the settings.
func ReadPrices(settings []config.Price) (Prices, error) {
	var table []PriceSetting
	for _, p := range settings {
		table = append(table, PriceSetting{Model: p.Model, Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite})
	}
	prices, err := NewPrices(table)
	if err != nil {
		return prices, fmt.Errorf("[[prices]]: %w", err)
	}
	return prices, nil
}

// NewPrices reads a price table; an empty one is an error.
func NewPrices(table []PriceSetting) (Prices, error) {
	p := Prices{known: map[string]Price{}}
	if len(table) == 0 {
		return p, errors.New("the price table is empty: without it no cost can be counted")
	}
	for _, line := range table {
		price, err := line.price()
		if err != nil {
			return p, fmt.Errorf("the price of %q: %w", line.Model, err)
		}
		if _, double := p.known[line.Model]; double || line.Model == "" {
			return p, fmt.Errorf("the price of %q is there twice, or has no name", line.Model)
		}
		p.known[line.Model] = price
		for i, at := range p.unknown.each() {
			*at = max(*at, *price.each()[i])
		}
	}
	return p, nil
}

func (p *Price) each() []*Money {
	return []*Money{&p.Input, &p.Output, &p.CacheRead, &p.CacheWrite, &p.CacheWriteLong}
}

func (s PriceSetting) price() (Price, error) {
	var p Price
	at := p.each()
	for i, text := range []string{s.Input, s.Output, s.CacheRead, s.CacheWrite, s.CacheWriteLong} {
		if text == "" && i >= 2 {
			*at[i] = p.Input * Money(min(i-1, 2))
			continue
		}
		v, err := ParseMoney(text)
		switch {
		case err != nil:
			return p, err
		case v%million != 0:
			return p, fmt.Errorf("%q has more than six decimals", text)
		case v > 10_000*dollar:
			return p, fmt.Errorf("%q is more than 10,000 dollars per million tokens", text)
		}
		*at[i] = v
	}
	return p, nil
}

var version = pattern.New(`-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$`)

// Of is the price of a model: its own, its undated name's, the longest
// beginning's, the highest. A bare name is no beginning, because gpt-5-pro costs
// twelve times gpt-5.
func (p Prices) Of(model string) Price {
	if price, ok := p.find(model); ok {
		return price
	}
	return p.unknown
}

// Knows reports whether a model has a price in the table.
func (p Prices) Knows(model string) bool {
	_, ok := p.find(model)
	return ok
}

func (p Prices) find(model string) (price Price, ok bool) {
	for _, name := range []string{model, version.ReplaceAllString(model, "")} {
		if price, ok = p.known[name]; ok {
			return price, true
		}
	}
	for n := len(model); n > 0; n-- {
		if price, ok = p.known[model[:n]+"*"]; ok {
			return price, true
		}
	}
	return Price{}, false
}

// cost is a use's price; it saturates at the largest amount.
func (p Price) cost(u Usage) Money {
	var sum Money
	for i, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWriteLong} {
		each := *p.each()[i] / million
		if each > 0 && n > math.MaxInt64/int64(each) {
			return Unlimited
		}
		sum = add(sum, Money(n)*each)
	}
	return sum
}

// add adds two non-negative amounts and saturates.
func add[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
