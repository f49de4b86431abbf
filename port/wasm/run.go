package wasm

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// Do runs a module on the effect's arguments. It gives a failed outcome for a
// module that cannot be run, that fails, whose answer is no JSON, and that is
// still running at the end of ctx or of the time that the permit gives. A module
// changes nothing, so there is no unknown outcome, and Do gives no error.
func (p *Port) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	if e.Permit.Kind != policy.KindWASM || e.Permit.Name != e.Name {
		return engine.Failed(graph.ClassInvalid, "module "+e.Name+" has no permit"), nil
	}
	prog, err := p.program(e.Name)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, err.Error()), nil
	}
	if most := e.Permit.MemoryBytes; most != 0 && prog.MemoryBytes > most {
		return engine.Failed(graph.ClassInvalid, fmt.Sprintf("module %s may have %d bytes of memory, and its permit gives %d", e.Name, prog.MemoryBytes, most)), nil
	}
	begin := time.Now()
	runtime, compiled, err := prog.compile(ctx)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, err.Error()), nil
	}
	ctx, cancel := e.Bound(ctx)
	defer cancel()
	r := run{Module: prog.Module, input: e.Args.AppendCompact(nil)}
	answer, err := r.call(ctx, runtime, compiled)
	o := r.outcome(ctx, answer, err)
	o.Usage = policy.Amount{Calls: 1, DurationMS: uint64(time.Since(begin).Milliseconds())}
	return o, nil
}

// run is one run of a module.
type run struct {
	Module
	input          []byte
	stdout, stderr output
}

// call runs the module and gives its answer.
func (r *run) call(ctx context.Context, runtime wazero.Runtime, compiled wazero.CompiledModule) (answer []byte, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.stdout.refuses = r.Export == ""
	config := wazero.NewModuleConfig().WithName("").WithStdin(bytes.NewReader(r.input)).WithStdout(&r.stdout).WithStderr(&r.stderr)
	if r.Export != "" {
		config = config.WithStdin(bytes.NewReader(nil)).WithStartFunctions("_initialize")
	}
	if r.Clock {
		config = config.WithSysWalltime().WithSysNanotime().WithNanosleep(func(ns int64) { sleep(ctx, ns) })
	}
	if r.Random {
		config = config.WithRandSource(rand.Reader)
	}
	instance, err := runtime.InstantiateModule(ctx, compiled, config)
	if instance != nil {
		defer func() { _ = instance.Close(context.WithoutCancel(ctx)) }() // its memory is gone either way
	}
	if err != nil || r.Export == "" {
		return r.stdout.data, err
	}
	return r.callLibrary(ctx, instance)
}

// sleep returns when the time has passed, or ctx has ended.
func sleep(ctx context.Context, ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// callLibrary hands over the input in the module's memory, and takes the answer.
func (r *run) callLibrary(ctx context.Context, instance api.Module) ([]byte, error) {
	size := uint64(len(r.input))
	at, err := instance.ExportedFunction("alloc").Call(ctx, size)
	if err != nil {
		return nil, err
	}
	if !instance.Memory().Write(uint32(at[0]), r.input) {
		return nil, errors.New("alloc gave a place outside the module's memory")
	}
	result, err := instance.ExportedFunction(r.Export).Call(ctx, uint64(uint32(at[0])), size)
	if err != nil {
		return nil, err
	}
	begin, length := uint32(result[0]>>32), uint32(result[0])
	if length > MaxOutputBytes {
		r.stdout.full = true
		return nil, errors.New("too much output")
	}
	answer, ok := instance.Memory().Read(begin, length)
	if !ok {
		return nil, errors.New("the answer is outside the module's memory")
	}
	return bytes.Clone(answer), nil
}

// outcome says how a run ended.
func (r *run) outcome(ctx context.Context, answer []byte, err error) engine.Outcome {
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 0:
		err = nil
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return engine.Failed(graph.ClassTimeout, "the module was ended at its deadline")
	case ctx.Err() != nil:
		return engine.Failed(graph.ClassCancelled, "the module was ended with the run")
	}
	switch {
	case r.stdout.full:
		return engine.Failed(graph.ClassInvalid, fmt.Sprintf("the answer is longer than %d bytes", MaxOutputBytes))
	case exit != nil && err != nil:
		return r.failed(fmt.Sprintf("the module exited with %d", exit.ExitCode()))
	case err != nil:
		return r.failed("the module failed: " + firstLine(err))
	}
	result, err := artifact.ParseValue(answer)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, "the answer is not JSON: "+err.Error())
	}
	return engine.Outcome{Result: result}
}

// failed gives a failure with what the module wrote last as error.
func (r *run) failed(text string) engine.Outcome {
	if last := r.stderr.tail(); last != "" {
		text += ": " + last
	}
	return engine.Failed(graph.ClassInternal, text)
}

// firstLine gives an error of the runtime without its trace.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ToValidUTF8(line, "\ufffd")
}

// output keeps what a module writes, up to [MaxOutputBytes].
type output struct {
	data    []byte
	refuses bool // an error for what is beyond, rather than dropping it
	full    bool
}

func (o *output) Write(p []byte) (int, error) {
	room := MaxOutputBytes - len(o.data)
	o.data = append(o.data, p[:min(len(p), room)]...)
	if len(p) <= room {
		return len(p), nil
	}
	if o.refuses {
		o.full = true
		return room, io.ErrShortWrite
	}
	return len(p), nil
}

// tail gives the end of the output for an error.
func (o *output) tail() string {
	const most = 512
	return strings.TrimSpace(strings.ToValidUTF8(string(o.data[max(0, len(o.data)-most):]), ""))
}
