package policy

import (
	"net/url"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// specific judges what only one kind has.
func (j *judge) specific(c *Call, p *part) {
	g := p.grant
	switch c.Kind {
	case KindExec:
		j.exec(c, p)
	case KindHTTP:
		j.http(c, p)
	case KindWASM:
		if !slices.Contains(g.Modules, c.Module) && !p.isV1() {
			j.deny(CodeArgumentDenied, p.rule+".module", "the module has another digest than the pack names")
			j.fix.pin(p.layer, append(slices.Clone(p.path), "module"), g.Modules, c.Module, "the module")
		}
		if most := max(g.MemoryBytes, memoryDefault(g)); c.Memory > most {
			j.deny(CodeCallTooLarge, p.rule+".memory_bytes", "asks for %d bytes of memory, of %d", c.Memory, most)
			j.fix.set(p.layer, append(slices.Clone(p.path), "memory_bytes"), artifact.UintValue(c.Memory), "allow %d bytes of memory", c.Memory)
		}
	case KindModel:
		if g.MaxOutputTokens != 0 && c.Output > g.MaxOutputTokens {
			j.deny(CodeCallTooLarge, p.rule+".max_output_tokens", "asks for %d tokens of output, of %d", c.Output, g.MaxOutputTokens)
			j.fix.set(p.layer, append(slices.Clone(p.path), "max_output_tokens"), artifact.UintValue(c.Output), "allow %d tokens of output", c.Output)
		}
	case KindRetrieve:
		j.retrieve(c, p)
	case KindClaims:
		if !contains(g.Actions, c.Action) {
			j.deny(CodeArgumentDenied, p.rule+".actions", "claims of %s may not be used to %s", c.Name, c.Action)
			j.fix.add(p, "actions", g.Actions, c.Action)
		}
	case KindHandoff:
		if g.Graphs != nil && !slices.Contains(g.Graphs, c.Graph) {
			j.deny(CodeGraphNotAllowed, p.rule+".graph", "the graph has another digest than the pack names")
			j.fix.pin(p.layer, append(slices.Clone(p.path), "graph"), g.Graphs, c.Graph, "the graph")
		}
	}
}

func (p *part) isV1() bool { return p.layer.anyName[KindWASM] == p }

func memoryDefault(g *Grant) uint64 {
	if g.MemoryBytes != 0 {
		return 0
	}
	return DefaultMemoryBytes
}

func (j *judge) exec(c *Call, p *part) {
	if !p.grant.permitsExactly(c) {
		j.program(c, p)
	}
	j.subset(p, "env", p.grant.Env, c.Env, "variable %s is not passed on")
}

// permitsExactly reports whether the pack has the program with these arguments
// word for word.
func (g *Grant) permitsExactly(c *Call) bool {
	return slices.ContainsFunc(g.Also, func(x Exact) bool {
		return x.Program == c.Program && slices.EqualFunc(x.Args, c.Argv, func(text string, a ProgramInput) bool { return text == a.Text })
	})
}

// program holds program and arguments against the rules of the grant.
func (j *judge) program(c *Call, p *part) {
	g := p.grant
	if c.Program != g.Program {
		j.programDenied(c, p, CodeArgumentDenied, ".program", "the program is not the one that the pack names")
	}
	at := 0
	for i, a := range c.Argv {
		if at == len(g.Args) {
			j.programDenied(c, p, CodeArgumentDenied, ".args", "argument %d is one more than the pack allows", i+1)
			break
		}
		rule, pattern := g.Args[at], p.args[at]
		switch {
		case pattern == nil && a.Text != rule.Text:
			j.programDenied(c, p, CodeArgumentDenied, ".args", "argument %d is not the text that the pack names", i+1)
		case pattern != nil && !pattern.MatchString(a.Text):
			j.programDenied(c, p, CodeArgumentDenied, ".args", "argument %d does not match %s", i+1, rule.Pattern)
		case pattern != nil && !g.AllowModelFlags && a.Taint.IsDerived() && strings.HasPrefix(a.Text, "-"):
			j.programDenied(c, p, CodeTaintedArgument, ".allow_model_flags", "argument %d begins with - and comes from a %s", i+1, a.Taint)
		}
		if !rule.Repeat {
			at++
		}
	}
	if at < len(g.Args) && !g.Args[at].Repeat {
		j.programDenied(c, p, CodeArgumentDenied, ".args", "%d of %d arguments are there", len(c.Argv), len(g.Args))
	}
}

// programDenied says what is wrong with a program or its arguments. The smallest
// change permits this program with these arguments, besides what the rules do.
func (j *judge) programDenied(c *Call, p *part, code Code, field, format string, args ...any) {
	j.deny(code, p.rule+field, format, args...)
	if j.unsaid {
		j.fix.say("write rules for the arguments of %s, not all of which the graph says", strings.Join(p.path, "."))
		return
	}
	if j.hidesArguments() {
		return
	}
	x := Exact{Program: c.Program}
	for _, a := range c.Argv {
		x.Args = append(x.Args, a.Text)
	}
	list := append(slices.Clone(p.grant.Also), x)
	j.fix.set(p.layer, append(slices.Clone(p.path), "also"), exactValues(list, p.grant.Program), "permit this program with exactly these arguments too")
}

// hidesArguments reports, and says, that a change would hold arguments of a program
// which the pack redacts.
func (j *judge) hidesArguments() bool {
	for _, pointer := range j.policy.redact {
		if artifact.PointerWithin(pointer, "args:/args") || pointer == "args:" {
			j.fix.say("no change is shown: it would hold the arguments of the program, which the pack redacts")
			return true
		}
	}
	return false
}

func exactArguments(argv []ProgramInput) artifact.Value {
	list := make([]string, len(argv))
	for i, a := range argv {
		list[i] = a.Text
	}
	return stringList(list)
}

// subset denies what is asked for and not listed.
func (j *judge) subset(p *part, field string, have, want []string, format string) {
	var missing []string
	for _, w := range want {
		if !contains(have, w) && !slices.Contains(missing, w) {
			missing = append(missing, w)
			j.deny(CodeArgumentDenied, p.rule+"."+field, format, w)
		}
	}
	if missing != nil {
		j.fix.add(p, field, have, missing...)
	}
}

func (j *judge) http(c *Call, p *part) {
	g := p.grant
	if !contains(g.Methods, c.Action) {
		j.deny(CodeArgumentDenied, p.rule+".methods", "method %.20s is not granted", c.Action)
		j.fix.add(p, "methods", g.Methods, c.Action)
	}
	scheme, host, problem := splitURL(c.URL)
	if problem != "" {
		j.deny(CodeArgumentDenied, p.rule+".hosts", "%s", problem)
		j.fix.say("no change to the pack helps: the address is not one that is ever opened")
		return
	}
	schemes := g.Schemes
	if schemes == nil {
		schemes = []string{"https"}
	}
	if !contains(schemes, scheme) {
		j.deny(CodeArgumentDenied, p.rule+".schemes", "%s is not granted", scheme)
		j.fix.add(p, "schemes", schemes, scheme)
	}
	if !contains(g.Hosts, host) {
		j.deny(CodeArgumentDenied, p.rule+".hosts", "host %.80s is not granted%s", host, artifact.Suggest(host, g.Hosts))
		j.fix.add(p, "hosts", g.Hosts, host)
	}
}

// splitURL gives scheme and host of an address, the host as packs write it: in
// lower case, with a port only if it is not the usual one.
func splitURL(address string) (scheme, host, problem string) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", "", "the address cannot be read"
	case u.Scheme != "https" && u.Scheme != "http":
		return "", "", "the address is neither https nor http"
	case u.User != nil:
		return "", "", "the address holds a user name; credentials are never part of it"
	case u.Opaque != "" || u.Hostname() == "":
		return "", "", "the address has no host"
	}
	host = strings.ToLower(u.Host)
	usual := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	host = strings.TrimSuffix(strings.TrimSuffix(host, usual), ":")
	if problem := hostName(host); problem != "" {
		return "", "", "the host of the address is not one that a pack can name"
	}
	return u.Scheme, host, ""
}

func (j *judge) retrieve(c *Call, p *part) {
	g := p.grant
	if p.needsSpace {
		return
	}
	if c.Manifest != "" && !contains(g.Manifests, c.Manifest) {
		j.deny(CodeArgumentDenied, p.rule+".manifests", "the manifest is not one that the pack names")
		j.fix.add(p, "manifests", g.Manifests, c.Manifest)
	}
	j.subset(p, "namespaces", g.Namespaces, c.Namespaces, "namespace %s may not be retrieved")
}
