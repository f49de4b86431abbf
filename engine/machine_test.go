package engine

import (
	"context"

	"github.com/writ-dev/writ/graph"
)

func noHandler(context.Context, graph.Invocation) (graph.NodeResult, error) {
	return graph.NodeResult{}, nil
}
