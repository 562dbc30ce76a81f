package client

import (
	"context"
	"net/http"
	"strings"
)

// labelColor is one that every forge has room for; people change it there.
const labelColor = "#00aabb"

func (l wireLabel) checked() (wireLabel, error) {
	var n need
	n.have(l.Name != "", "name")
	return l, n.err("the label")
}

// label makes a label where there is none of that name. All three forges have these calls.
func (c *conn) label(ctx context.Context, name, color, right string) (made bool, err error) {
	all, err := list(ctx, c, c.get("/labels"), wireLabel.checked)
	if err != nil {
		return false, err
	}
	for _, l := range all {
		if strings.EqualFold(l.Name, name) {
			return false, nil
		}
	}
	body := map[string]string{"name": name, "color": color, "description": "proposed to Ward as a directive"}
	_, err = one(ctx, c, c.send(http.MethodPost, right, body, "/labels"), wireLabel.checked)
	return err == nil, err
}

// Label is without the mark of a colour, which GitHub refuses and Gitea does without.
func (h *hub) Label(ctx context.Context, name string) (bool, error) {
	return h.label(ctx, name, strings.TrimPrefix(labelColor, "#"), "to make labels: to write issues")
}

func (g *gitlab) Label(ctx context.Context, name string) (bool, error) {
	return g.label(ctx, name, labelColor, "the scope api, and to make labels")
}
