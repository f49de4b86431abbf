package draft

import "context"

// Fetcher reads from the network.
type Fetcher interface {
	// Get gives what is at an address and where it was found after redirects. The
	// error wraps [io/fs.ErrNotExist] if, and only if, the host answered that there
	// is nothing there.
	Get(ctx context.Context, address string) (data []byte, location string, err error)
}
