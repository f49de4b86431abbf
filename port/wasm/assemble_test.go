package wasm

// The test modules are assembled here, so that none is taken on trust.

// Opcodes.
const (
	opUnreachable = 0x00
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opBr          = 0x0c
	opCall        = 0x10
	opDrop        = 0x1a
	opGet         = 0x20
	opLoad        = 0x28
	opLoad8       = 0x2d // unsigned
	opStore       = 0x36
	opStore8      = 0x3a
	opGrow        = 0x40
	opConst       = 0x41
	opConst64     = 0x42
	opAdd         = 0x6a
	opRemU        = 0x70
	opOr64        = 0x84
	opShl64       = 0x86
	opExtendU     = 0xad
	void          = 0x40
	i32           = 0x7f
	i64           = 0x7e
)

// function is one function of a test module: an import where module is set.
type function struct {
	module, name    string // of an export; empty for none
	params, results []byte
	body            []byte
}

// assemble gives the binary form of a module with a memory of so many pages.
func assemble(pages uint32, functions ...function) []byte {
	var types, imports, own, exports, code [][]byte
	for i, f := range functions {
		types = append(types, cat([]byte{0x60}, vector(split(f.params)), vector(split(f.results))))
		if f.module != "" {
			imports = append(imports, cat(text(f.module), text(f.name), []byte{0}, unsigned(uint64(i))))
			continue
		}
		own = append(own, unsigned(uint64(i)))
		if f.name != "" {
			exports = append(exports, cat(text(f.name), []byte{0}, unsigned(uint64(i))))
		}
		body := cat([]byte{0}, f.body, []byte{opEnd})
		code = append(code, cat(unsigned(uint64(len(body))), body))
	}
	exports = append(exports, cat(text("memory"), []byte{2, 0}))
	return cat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, vector(types)), section(2, vector(imports)), section(3, vector(own)),
		section(5, vector([][]byte{cat([]byte{0}, unsigned(uint64(pages)))})),
		section(7, vector(exports)), section(10, vector(code)))
}

func section(id byte, content []byte) []byte {
	return cat([]byte{id}, unsigned(uint64(len(content))), content)
}

func vector(items [][]byte) []byte {
	return cat(append([][]byte{unsigned(uint64(len(items)))}, items...)...)
}

func text(s string) []byte { return cat(unsigned(uint64(len(s))), []byte(s)) }

func split(b []byte) (list [][]byte) {
	for i := range b {
		list = append(list, b[i:i+1])
	}
	return list
}

func cat(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// unsigned gives a number in LEB128.
func unsigned(n uint64) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func signed(n int64) (b []byte) {
	for ; n < -64 || n > 63; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n)&0x7f)
}

func constant(n int64) []byte { return cat([]byte{opConst}, signed(n)) }

func call(index byte, args ...int64) (code []byte) {
	for _, a := range args {
		code = append(code, constant(a)...)
	}
	return append(code, opCall, index)
}

func store(at int64, value []byte) []byte { return cat(constant(at), value, []byte{opStore, 2, 0}) }

func load(at int64) []byte { return cat(constant(at), []byte{opLoad, 2, 0}) }

// put writes a text into memory, byte by byte.
func put(at int64, s string) (code []byte) {
	for i := range len(s) {
		code = append(code, cat(constant(at+int64(i)), constant(int64(s[i])), []byte{opStore8, 0, 0})...)
	}
	return code
}

func wasi(name string, params int) function {
	list := make([]byte, params)
	for i := range list {
		list[i] = i32
	}
	return function{module: "wasi_snapshot_preview1", name: name, params: list, results: []byte{i32}}
}

// The places in memory that the modules use: a vector of one buffer, a count, and
// the buffer.
const (
	vectorAt, countAt, bufferAt, bufferSize = 0, 8, 1024, 4096
)

// write sends size bytes from the buffer to a file. The module's function 0 is
// fd_write.
func write(file int64, size []byte) []byte {
	return cat(store(vectorAt, constant(bufferAt)), store(vectorAt+4, size), call(0, file, vectorAt, 1, countAt), []byte{opDrop})
}

// says gives a command that writes a text.
func says(s string) []byte {
	return assemble(1, wasi("fd_write", 4), function{name: "_start", body: cat(put(bufferAt, s), write(1, constant(int64(len(s)))))})
}

// copies gives a command that answers what it was given, as often as it is said.
func copies() []byte {
	read := cat(store(vectorAt, constant(bufferAt)), store(vectorAt+4, constant(bufferSize)), call(1, 0, vectorAt, 1, countAt), []byte{opDrop})
	return assemble(1, wasi("fd_write", 4), wasi("fd_read", 4), function{name: "_start", body: cat(
		[]byte{opLoop, void}, read,
		load(countAt), []byte{opIf, void}, write(1, load(countAt)), []byte{opBr, 1, opEnd},
		[]byte{opEnd},
	)})
}

// grows gives a command that needs more pages, and says whether it got them.
func grows(pages int64) []byte {
	return assemble(1, wasi("fd_write", 4), function{name: "_start", body: cat(
		put(bufferAt, "true "),
		constant(pages), []byte{opGrow, 0}, constant(-1), []byte{0x46, opIf, void}, put(bufferAt, "false"), []byte{opEnd},
		write(1, constant(5)),
	)})
}

// loops gives a command that never ends.
func loops() []byte {
	return assemble(1, function{name: "_start", body: []byte{opLoop, void, opBr, 0, opEnd}})
}

// floods gives a command that writes without end to a file.
func floods(file int64) []byte {
	return assemble(1, wasi("fd_write", 4), function{name: "_start", body: cat(
		[]byte{opLoop, void}, store(vectorAt, constant(bufferAt)), store(vectorAt+4, constant(bufferSize)),
		call(0, file, vectorAt, 1, countAt), []byte{0x45, opIf, void, opBr, 1, opEnd}, []byte{opEnd},
	)})
}

// digit turns the number that some code leaves, or the byte at an address, into a
// character of the buffer.
func digit(at int64, number []byte) []byte {
	return cat(constant(at), number, constant(10), []byte{opRemU}, constant('0'), []byte{opAdd, opStore8, 0, 0})
}

func loadByte(at int64) []byte { return cat(constant(at), []byte{opLoad8, 0, 0}) }

// looks gives a command that looks around, and says what it finds: the error of
// opening a file, the error of asking for a folder, how many variables there are,
// a random number, and a time.
func looks() []byte {
	const number, clock = 100, 200
	code := put(bufferAt, `["-","-","-","--------","--------"]`)
	code = append(code, digit(bufferAt+2, cat(constant(3), constant(0), constant(bufferAt), constant(1), constant(0),
		[]byte{opConst64, 0, opConst64, 0}, constant(0), constant(16), []byte{opCall, 1}))...)
	code = append(code, digit(bufferAt+6, call(2, 3, 16))...)
	code = append(code, call(3, 24, 28)...)
	code = append(code, opDrop)
	code = append(code, digit(bufferAt+10, load(24))...)
	code = append(code, call(4, number, 8)...)
	code = append(code, opDrop)
	code = append(code, cat(constant(0), []byte{opConst64, 0}, constant(clock), []byte{opCall, 5, opDrop})...)
	for i := range int64(8) {
		code = append(code, digit(bufferAt+14+i, loadByte(number+i))...)
		code = append(code, digit(bufferAt+25+i, loadByte(clock+i))...)
	}
	open := wasi("path_open", 9)
	open.params = []byte{i32, i32, i32, i32, i32, i64, i64, i32, i32}
	now := wasi("clock_time_get", 3)
	now.params = []byte{i32, i64, i32}
	return assemble(1, wasi("fd_write", 4), open, wasi("fd_prestat_get", 2), wasi("environ_sizes_get", 2), wasi("random_get", 2), now,
		function{name: "_start", body: cat(code, write(1, constant(35)))})
}

// library gives a module whose function run answers with the input; body may
// replace that of run, and of alloc.
func library(alloc, run []byte) []byte {
	if alloc == nil {
		alloc = constant(bufferAt)
	}
	if run == nil { // pointer << 32 | size
		run = cat([]byte{opGet, 0, opExtendU, opConst64, 32, opShl64, opGet, 1, opExtendU, opOr64})
	}
	return assemble(1,
		function{name: "alloc", params: []byte{i32}, results: []byte{i32}, body: alloc},
		function{name: "run", params: []byte{i32, i32}, results: []byte{i64}, body: run})
}
