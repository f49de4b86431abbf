package policy

import (
	"errors"

	"github.com/writ-dev/writ/artifact"
)

// placedError is an error of version 1 with its place. To [errors.As] it is a
// *[V1Error], whose text is that of the contract, and an *[artifact.DocumentError],
// whose text says where and what to do.
type placedError struct {
	v1       *V1Error
	document *artifact.DocumentError
}

func (e *placedError) Error() string { return e.document.Error() }

// As gives either.
func (e *placedError) As(target any) bool {
	switch target := target.(type) {
	case **V1Error:
		*target = e.v1
	case **artifact.DocumentError:
		*target = e.document
	default:
		return false
	}
	return true
}

// placeManifest gives an error of reading a manifest its kind.
func placeManifest(err error) error {
	var document *artifact.DocumentError
	if !errors.As(err, &document) {
		return err
	}
	return &placedError{&V1Error{KindPackLoad, err.Error()}, document}
}

// nativePlace is where the native text is wrong, and what to do about it.
type nativePlace struct {
	line, column int
	hint         string
}

func (p nativePlace) of(err error, source string) error {
	var v1 *V1Error
	if !errors.As(err, &v1) {
		return err
	}
	problem := artifact.Problem{Line: p.line, Column: p.column, Text: v1.Error() + p.hint}
	return &placedError{v1, &artifact.DocumentError{Source: source, Problems: []artifact.Problem{problem}}}
}
