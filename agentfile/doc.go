// Package agentfile reads agent files: one YAML file names everything that an
// agent is made of, so that it runs without any Go.
//
// [Read] reads the file and the files that it names, compiles graph and pack, and
// holds them against each other: what the graph needs and the pack does not grant
// is refused here, every missing grant by name, before anything is started. Of each
// node's call the constants are known then, and the values of expressions are not:
// see [policy.Policy.Foresee]. Package local makes a running agent of the result.
//
//	version: 1
//	id: refund
//	description: Answers refund requests; a person decides about large ones.
//	graph: graph.yaml          # a file, or the graph itself
//	pack: pack.yaml            # a file, or the pack itself
//	agent: refund              # which of the pack's agents it is; only if the pack names any
//	state: state.json          # the state schema, if the graph does not declare its state
//	input:                     # JSON Schema of what a run is started with
//	  type: object
//	  required: [order]
//	initial: {attempts: 0}     # the state at the start, below the members of the input
//	tools:
//	  lookup:
//	    answers:               # fixed answers, to try an agent out
//	      - when: {order: o7}
//	        result: {cents: 900}
//	  count:
//	    command: {program: /usr/bin/wc, args: [-l]}    # or http, wasm, claims
//	models:
//	  fast:
//	    price: {input: 800000, output: 4000000}  # micro-USD per million tokens
//	    answers: [{contains: refund, text: refund}, {text: other}]
//	graphs:
//	  writer: writer.yaml      # graphs that call nodes run, under this pack, narrowed
//	knowledge:
//	  handbook:                # what retrieve nodes plan over, and who asks
//	    manifest: docs/knowledge.yaml
//	    context_budget: 3000
//	secrets:
//	  payments: {env: PAYMENTS_KEY}
//	approvers:                 # public keys of people who decide by signature
//	  maria: MCowBQYDK2VwAyEA...
//
// Paths are relative to the file's folder. A graph or pack that stands in the file
// may leave out version (2) and id (the agent's). Unknown keys are errors. The
// format is described for editors in docs/schema/agent.schema.json and for people
// in docs/agents.md.
package agentfile
