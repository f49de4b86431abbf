package fetch

import (
	"context"
	"errors"
	"os"
	"strconv"
)

// File reads a regular file of at most limit bytes. Below an [*os.Root] neither
// "..", an absolute path nor a symbolic link leads out, not even one that is put
// in place while the file is opened. The refusal has the name as its location.
func File(ctx context.Context, p Place, name string, limit int64) ([]byte, *Refusal) {
	file, err := OpenRegular(p, name)
	if err == nil {
		defer file.Close()
		var data []byte
		if data, err = ReadAll(ctx, file, limit); err == nil {
			return data, nil
		}
	}
	if err == ErrTooLarge {
		r := refuse(TooLarge, "larger than "+strconv.FormatInt(limit, 10)+" bytes", "split the file")
		r.Location = name
		return nil, r
	}
	return nil, RefuseFile(name, err)
}

// RefuseFile says why a file could not be opened or read.
func RefuseFile(name string, err error) *Refusal {
	r := refuse(Unreadable, ProblemOf(err), "check its permissions")
	var special Irregular
	switch {
	case IsMissing(err):
		r = refuse(NotFound, "no such file", "check the spelling")
	case errors.As(err, &special):
		r = refuse(NotRegular, special.Error(), "name a file")
	case Escapes(err):
		r = refuse(Outside, "leads out of the directory that bounds it", "keep what a manifest names below its directory")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		r = refuse(Cancelled, "cancelled", "")
	}
	r.Location, r.cause = name, err
	return r
}

// ProblemOf gives what is wrong without the path, which depends on where the
// operator stands and would make two machines differ.
func ProblemOf(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if IsMissing(err) {
		return "no such file"
	}
	return err.Error()
}
