// Package wasm performs effects by running WebAssembly modules, which reach
// nothing but their own memory.
//
// Open it at [New], which takes the [Module]s that a host offers; [Port.Do] runs
// one, and [Port.Tools] tells an engine how policy is to judge it: the pack names
// the digest of each module and the memory that it may use.
//
// A module gets the arguments of the effect as one JSON text and answers with
// one, which is the result. It does so in one of two ways:
//
//   - As a WASI command (wasi_snapshot_preview1), it reads standard input and
//     writes standard output. A status other than 0 is a failure, whose error
//     quotes standard error.
//   - As a library, it exports its memory, alloc(size i32) i32 and the function
//     that the Module names, of the type (pointer i32, size i32) i64. The answer
//     has the pointer in its upper and the size in its lower 32 bits.
//
// There is no file, no network, no environment and no argument. The clock stands
// still except that it counts how often it is read, and random numbers are always
// the same, so that equal arguments have equal results; a Module may be given the
// real ones. Every run has an instance of its own. Modules are compiled when they
// are first used, and stay compiled until the port is closed.
package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
)

// Module is a WebAssembly module that runs may be granted, by its name in the
// pack.
type Module struct {
	// Open gives the module's bytes. It is called when the module is first used.
	Open func() ([]byte, error)
	// Digest of the bytes, the same that the pack names.
	Digest artifact.Digest

	// Export is the function of a library; empty for a WASI command.
	Export string
	// MemoryBytes is the most memory that a run may have, rounded down to pages of
	// 64 KiB. 0 for [policy.DefaultMemoryBytes].
	MemoryBytes uint64

	Clock  bool // the real time
	Random bool // real random numbers
}

// Limits of a module.
const (
	MaxModuleBytes = 64 << 20
	MaxOutputBytes = 1 << 20 // of the answer; standard error beyond it is dropped
	pageBytes      = 64 << 10
	maxPages       = 65536
)

// Name is what the engine calls this port.
const Name = "wasm"

// Port runs modules. It is safe for concurrent use.
type Port struct {
	modules map[string]Module

	mu       sync.Mutex
	programs map[string]*program
	closed   bool
}

var _ engine.Port = (*Port)(nil)

// New checks the modules and gives the port that runs them. The error names
// everything that is wrong. Nothing is read or compiled yet.
func New(modules map[string]Module) (*Port, error) {
	checked := make(map[string]Module, len(modules))
	var problems []error
	for _, name := range artifact.SortedNames(modules) {
		m := modules[name]
		if m.MemoryBytes == 0 {
			m.MemoryBytes = policy.DefaultMemoryBytes
		}
		for _, p := range m.Check() {
			problems = append(problems, fmt.Errorf("module %s: %s", name, p.Text))
		}
		checked[name] = m
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return &Port{modules: checked, programs: map[string]*program{}}, nil
}

// Check lists everything that is wrong with the module. Pointers name its fields,
// such as /memory_bytes.
func (m Module) Check() []artifact.Problem {
	var list []artifact.Problem
	say := func(pointer, format string, args ...any) {
		list = append(list, artifact.Problem{Pointer: pointer, Text: fmt.Sprintf(format, args...)})
	}
	if m.Open == nil {
		say("", "there is nothing to open")
	}
	if m.Digest.IsZero() {
		say("", "it has no digest, and only what is pinned runs")
	}
	if m.MemoryBytes != 0 && m.MemoryBytes < pageBytes {
		say("/memory_bytes", "%d bytes of memory are less than a page of %d", m.MemoryBytes, pageBytes)
	}
	return list
}

// Tools gives how each module is authorized.
func (p *Port) Tools() map[string]engine.Tool {
	tools := make(map[string]engine.Tool, len(p.modules))
	for name, m := range p.modules {
		tools[name] = engine.Tool{Port: Name, Kind: policy.KindWASM, Shape: m.Shape}
	}
	return tools
}

// Shape tells policy which module is to run and how much memory it may have. It
// opens nothing, and gives no error.
func (m Module) Shape(call policy.Call) (policy.Call, error) {
	call.Module, call.Memory = m.Digest, m.MemoryBytes
	return call, nil
}

// Idempotent reports whether the effect may be performed again under its key: a
// module changes nothing outside itself.
func (p *Port) Idempotent(engine.Effect) bool { return true }

// Close frees what was compiled. Modules that run are ended.
func (p *Port) Close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var problems []error
	for _, name := range artifact.SortedNames(p.programs) {
		problems = append(problems, p.programs[name].close(ctx))
		delete(p.programs, name)
	}
	return errors.Join(problems...)
}

// program gives the place of a module's compiled code.
func (p *Port) program(name string) (*program, error) {
	m, ok := p.modules[name]
	if !ok {
		return nil, fmt.Errorf("there is no module %s", name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the port is closed")
	}
	if p.programs[name] == nil {
		p.programs[name] = &program{Module: m}
	}
	return p.programs[name], nil
}
