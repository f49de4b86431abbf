package graph

import (
	"fmt"

	"github.com/writ-dev/writ/artifact"
)

// The errors of version 1 (runtime contract, section 14). Their texts are the
// display texts that other implementations show, to the byte.

// InvalidGraphError says which rule a graph breaks.
type InvalidGraphError struct{ Text string }

func (e *InvalidGraphError) Error() string { return display("InvalidGraph", e.Text) }

// InvalidPatchError says why a patch was refused; the state is unchanged.
type InvalidPatchError struct{ Text string }

func (e *InvalidPatchError) Error() string { return display("InvalidPatch", e.Text) }

// SchemaViolationError says where a value does not fit its state schema.
type SchemaViolationError struct{ Text string }

func (e *SchemaViolationError) Error() string { return display("SchemaViolation", e.Text) }

// CheckpointIncompatibleError says why a checkpoint cannot be resumed.
type CheckpointIncompatibleError struct{ Text string }

func (e *CheckpointIncompatibleError) Error() string {
	return display("CheckpointIncompatible", e.Text)
}

// RevisionConflictError is a patch that was made for another revision than the
// state has.
type RevisionConflictError struct {
	Expected uint64 // the revision of the state
	Actual   uint64 // the base revision of the patch
}

func (e *RevisionConflictError) Error() string {
	return fmt.Sprintf("RevisionConflict { expected: %d, actual: %d }", e.Expected, e.Actual)
}

func display(kind, text string) string { return kind + "(" + artifact.QuoteDebug(text) + ")" }
