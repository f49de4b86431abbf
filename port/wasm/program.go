package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/writ-dev/writ/artifact"
)

// program is a module and, once it was used, its compiled code.
type program struct {
	Module

	mu       sync.Mutex
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// compile gives the compiled module. Only the first call does the work; a failed
// one leaves it to the next. The error may be recorded.
func (p *program) compile(ctx context.Context) (wazero.Runtime, wazero.CompiledModule, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.compiled != nil {
		return p.runtime, p.compiled, nil
	}
	data, err := p.Open()
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("the module cannot be read: %w", err)
	case len(data) > MaxModuleBytes:
		return nil, nil, fmt.Errorf("the module has %d bytes, of at most %d", len(data), MaxModuleBytes)
	case artifact.Sum(data) != p.Digest:
		return nil, nil, errors.New("the module's bytes have another digest than it names")
	}
	config := wazero.NewRuntimeConfig().
		WithMemoryLimitPages(uint32(min(p.MemoryBytes/pageBytes, maxPages))).
		WithCloseOnContextDone(true).
		WithDebugInfoEnabled(false)
	// What is compiled outlives the effect that was first to need it.
	ctx = context.WithoutCancel(ctx)
	runtime := wazero.NewRuntimeWithConfig(ctx, config)
	compiled, err := p.load(ctx, runtime, data)
	if err != nil {
		_ = runtime.Close(ctx) // nothing of it was used
		return nil, nil, err
	}
	p.runtime, p.compiled = runtime, compiled
	return runtime, compiled, nil
}

func (p *program) load(ctx context.Context, runtime wazero.Runtime, data []byte) (wazero.CompiledModule, error) {
	compiled, err := runtime.CompileModule(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("the module is not valid: %s", firstLine(err))
	}
	needsWASI := false
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if module != wasi_snapshot_preview1.ModuleName {
			return nil, fmt.Errorf("the module needs %.80q of %.80q, which nothing here offers", name, module)
		}
		needsWASI = true
	}
	if len(compiled.ImportedMemories()) > 0 {
		return nil, errors.New("the module needs a memory of somebody else")
	}
	if err := p.checkExports(compiled); err != nil {
		return nil, err
	}
	if needsWASI {
		if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
			return nil, fmt.Errorf("WASI cannot be set up: %s", firstLine(err))
		}
	}
	return compiled, nil
}

// checkExports looks for what the way of calling the module needs.
func (p *program) checkExports(compiled wazero.CompiledModule) error {
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	functions := compiled.ExportedFunctions()
	if p.Export == "" {
		if !hasType(functions["_start"], nil, nil) {
			return errors.New("the module is no WASI command: it does not export _start")
		}
		return nil
	}
	switch {
	case compiled.ExportedMemories()["memory"] == nil:
		return errors.New("the module does not export its memory")
	case !hasType(functions["alloc"], []api.ValueType{i32}, []api.ValueType{i32}):
		return errors.New("the module does not export alloc(i32) i32")
	case !hasType(functions[p.Export], []api.ValueType{i32, i32}, []api.ValueType{i64}):
		return fmt.Errorf("the module does not export %.80s(i32, i32) i64", p.Export)
	}
	return nil
}

func hasType(f api.FunctionDefinition, params, results []api.ValueType) bool {
	return f != nil && string(f.ParamTypes()) == string(params) && string(f.ResultTypes()) == string(results)
}

func (p *program) close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runtime == nil {
		return nil
	}
	err := p.runtime.Close(ctx)
	p.runtime, p.compiled = nil, nil
	return err
}
