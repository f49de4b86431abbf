package cli

import (
	"context"
	"io/fs"
	"strings"

	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/internal/draft"
)

// newNetwork gives what reads addresses that a person named.
func newNetwork(allowPrivate bool) draft.Fetcher {
	return network{fetch.New(fetch.Options{AllowPrivateHosts: allowPrivate})}
}

// network reads through the guard.
type network struct{ client *fetch.Client }

// Get reads an address. What a server says is not there is an error that wraps
// [fs.ErrNotExist]; every other refusal is not.
func (n network) Get(ctx context.Context, address string) ([]byte, string, error) {
	answer, refusal := n.client.Get(ctx, fetch.Request{URL: address})
	switch {
	case refusal == nil:
		return answer.Bytes, answer.URL, nil
	case refusal.Code == fetch.Status && (strings.HasPrefix(refusal.Problem, "404 ") || strings.HasPrefix(refusal.Problem, "410 ")):
		return nil, address, notThere{refusal}
	}
	return nil, address, refusal
}

// notThere is the refusal of a server that has nothing at an address.
type notThere struct{ *fetch.Refusal }

// Is makes it an [fs.ErrNotExist].
func (notThere) Is(target error) bool { return target == fs.ErrNotExist }
