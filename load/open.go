package load

import (
	"context"

	"github.com/writ-dev/writ/fetch"
)

// anywhere is the whole file system.
type anywhere = fetch.Anywhere

// readSmall opens and reads a regular file of at most limit bytes.
func readSmall(p fetch.Place, name string, limit int) ([]byte, error) {
	return fetch.ReadSmall(context.Background(), p, name, int64(limit))
}

// problemOf gives what is wrong without the path, which depends on where the
// operator stands and would make two machines differ.
func problemOf(err error) string {
	if fetch.Escapes(err) {
		return problemOutside
	}
	return fetch.ProblemOf(err)
}
