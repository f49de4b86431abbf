package policy

// Kind is what an effect does. Every crossing from a run to the world, and every
// use of authority inside it, has one and goes through [Policy.Authorize].
type Kind uint8

// The kinds. Those up to KindEvent are granted by name, each in a section of its
// own; the last two are granted by the sections approvals and namespaces.
const (
	KindTool     Kind = iota // a call of a tool
	KindExec                 // a program
	KindHTTP                 // a request
	KindWASM                 // a WebAssembly module
	KindModel                // a model call
	KindRetrieve             // planning and loading knowledge
	KindCortex               // a query or context request to a Cortex
	KindClaims               // reading, proposing or committing claims
	KindHandoff              // running another graph under narrowed authority
	KindEvent                // waiting for an external event or a timer
	KindApproval             // asking a person
	KindState                // reading or writing a state namespace
	kinds
)

// namedKinds is the number of kinds that are granted by name.
const namedKinds = KindEvent + 1

var kindNames = [kinds]string{
	"tool", "exec", "http", "wasm", "model", "retrieve", "cortex", "claims", "handoff", "event", "approval", "state",
}

var sectionNames = [kinds]string{
	"tools", "exec", "http", "wasm", "models", "retrieve", "cortex", "claims", "handoffs", "events", "approvals", "namespaces",
}

// String gives the name of the kind, such as tool.
func (k Kind) String() string {
	if k >= kinds {
		return "unknown"
	}
	return kindNames[k]
}

// ParseKind reads a name that [Kind.String] gives.
func ParseKind(name string) (Kind, bool) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// Section gives the section of a pack that grants the kind, such as tools.
func (k Kind) Section() string { return sectionNames[k] }

// Access is how a namespace may be used. The zero value is none.
type Access uint8

// The accesses. Write includes read.
const (
	AccessNone Access = iota
	AccessRead
	AccessWrite
)

var accessNames = []string{"none", "read", "write"}

// String gives none, read or write.
func (a Access) String() string { return accessNames[a] }

// Method is how an approver is known, the weakest first.
type Method uint8

// The methods.
const (
	MethodAsserted    Method = iota // a name that somebody typed
	MethodOSUser                    // the operating system's user
	MethodElicitation               // an answer through the client of a conversation
	MethodToken                     // whoever holds a single-use token
	MethodKey                       // a signature by a known key
)

var methodNames = []string{"asserted", "os-user", "elicitation", "token", "key"}

// String gives the name that packs and events use.
func (m Method) String() string { return methodNames[m] }

// ParseMethod reads a name that [Method.String] gives.
func ParseMethod(name string) (Method, bool) {
	for m, n := range methodNames {
		if n == name {
			return Method(m), true
		}
	}
	return 0, false
}
