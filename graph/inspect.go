package graph

import (
	"errors"

	"github.com/writ-dev/writ/artifact"
)

// Inspect answers one request of the version 1 WASM protocol (runtime contract,
// section 17): JSON text in, JSON text out. It never fails otherwise: a problem is
// an answer of type error. The only command is inspect, which gives the graph in
// canonical form; running a graph needs a host that performs its nodes.
func Inspect(request []byte) []byte {
	inspection, err := inspect(request)
	if err == nil {
		return artifact.ArrayValue(inspection).AppendCompact(nil)
	}
	return artifact.ArrayValue(artifact.ObjectValue(
		member("type", artifact.StringValue("error")),
		member("failure", artifact.ObjectValue(
			member("type", artifact.StringValue("unsupported")),
			member("message", artifact.StringValue(err.Error())),
		)),
	)).AppendCompact(nil)
}

func inspect(request []byte) (artifact.Value, error) {
	type envelope struct {
		version uint16
		command artifact.Value
		graph   *DefinitionV1
	}
	e, err := decodeV1(request, "request", func(f artifact.Field) *envelope {
		o := f.Object()
		e := &envelope{
			version: o.Need("version").Uint16(),
			command: o.Need("command").Value(),
			graph:   readDefinitionV1(o.Need("graph")),
		}
		o.RefuseUnknown()
		return e
	})
	if err != nil {
		return artifact.Value{}, err
	}
	if e.version != 1 {
		return artifact.Value{}, errors.New("unsupported protocol version")
	}
	if err := e.graph.Check(); err != nil {
		return artifact.Value{}, err
	}
	if command, _ := e.command.Get("type"); command.Kind() != artifact.KindString || command.Text() != "inspect" {
		return artifact.Value{}, errors.New("this ABI-neutral adapter supports inspect; execution requires host node dispatch")
	}
	return artifact.ObjectValue(
		member("type", artifact.StringValue("inspection")),
		member("inspection", artifact.ObjectValue(
			member("engine", artifact.StringValue("wasm")),
			member("graph", e.graph.AsValue()),
			member("capabilities", texts("state", "routing", "suspension")),
			member("limitations", texts("execution requires host node dispatch")),
		)),
	), nil
}

func texts(list ...string) artifact.Value {
	values := make([]artifact.Value, len(list))
	for i, s := range list {
		values[i] = artifact.StringValue(s)
	}
	return artifact.ArrayValue(values...)
}
