package policy

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/writ-dev/writ/artifact"
)

func readGrants(k Kind, f artifact.Field, depth int) map[string]*Grant {
	m := map[string]*Grant{}
	for name, g := range f.Map() {
		if len(m) == maxGrants {
			f.Report("%s has more than %d grants", k.Section(), maxGrants)
			break
		}
		checkName(g, name)
		if k == KindCortex && name != "query" && name != "context" {
			g.Report("cortex has the grants query and context, not %q%s", name, artifact.Suggest(name, []string{"query", "context"}))
		}
		if g.Kind() == artifact.KindNull {
			g.Report("%s is null; write {} to grant it without limits of its own", name)
			continue
		}
		m[name] = readGrant(k, g, depth)
	}
	return m
}

func readGrant(k Kind, f artifact.Field, depth int) *Grant {
	o := f.Object()
	g := &Grant{Capability: o.May("capability").Identifier()}
	if k != KindHandoff && k != KindEvent {
		readArguments(o, g)
	}
	readSpecific(k, o, g, depth)
	g.When = readConditions(o.May("when"))
	g.Limits = readLimits(o.May("limits"), grantResources...)
	g.PerCall = readLimits(o.May("per_call"), perCallResources...)
	g.TimeoutMS = ReadDuration(o.May("timeout"))
	if a := o.May("approval"); a.Present() {
		g.Approval = readApproval(a)
	}
	o.RefuseUnknown()
	return g
}

func readArguments(o *artifact.Object, g *Grant) {
	f := o.May("arguments")
	if !f.Present() {
		return
	}
	if f.Kind() != artifact.KindObject && f.Kind() != artifact.KindBool {
		f.Report("arguments is a %s; write a JSON Schema", f.Kind())
		return
	}
	g.Arguments = f.Value()
}

func readConditions(f artifact.Field) []string {
	if !f.Present() {
		return nil
	}
	var list []string
	for _, c := range f.List() {
		if len(list) == maxConditions {
			f.Report("when has more than %d conditions; join some with &&", maxConditions)
			break
		}
		if text := c.Text(); strings.TrimSpace(text) != "" {
			list = append(list, text)
		} else if c.Kind() == artifact.KindString {
			c.Report("condition is empty; write one or remove it")
		}
	}
	return list
}

// readSpecific reads what only one kind has.
func readSpecific(k Kind, o *artifact.Object, g *Grant, depth int) {
	switch k {
	case KindTool:
		g.Proxied = o.May("proxied").Bool()
	case KindExec:
		readExec(o, g)
	case KindHTTP:
		readHTTP(o, g)
	case KindWASM:
		g.Modules = readDigests(o.Need("module"))
		g.MemoryBytes = o.May("memory_bytes").Uint64()
	case KindModel:
		g.MaxOutputTokens = o.May("max_output_tokens").Uint64()
	case KindRetrieve:
		g.Manifests = optionalNames(o.May("manifests"), notEmpty)
		g.Namespaces = optionalNames(o.May("namespaces"), anIdentifier)
		g.OutputBytes = o.May("output_bytes").Uint64()
	case KindClaims:
		g.Actions = optionalNames(o.Need("actions"), claimAction)
	case KindHandoff:
		g.Graphs = readDigests(o.May("graph"))
		f := o.May("authority")
		switch {
		case f.Present() && depth >= maxHandoffNesting:
			f.Report("authority is nested more than %d levels deep", maxHandoffNesting)
		case f.Present():
			g.Authority = readAuthority(f, depth+1)
		}
	}
}

func optionalNames(f artifact.Field, check func(string) string) []string {
	if !f.Present() {
		return nil
	}
	return readNames(f, check)
}

var claimActions = []string{"commit", "propose", "read"}

func claimAction(s string) string {
	if slices.Contains(claimActions, s) {
		return ""
	}
	return "is not one of read, propose, commit" + artifact.Suggest(s, claimActions)
}

func readExec(o *artifact.Object, g *Grant) {
	program := o.Need("program")
	g.Program = program.Text()
	if program.Kind() == artifact.KindString && !isAbsolute(g.Program) {
		program.Report("program %.80q: write an absolute path without . and .. parts; nothing is looked up in PATH", g.Program)
	}
	rules := o.May("args").List()
	if len(rules) > maxArgumentRules {
		o.May("args").Report("args has more than %d rules", maxArgumentRules)
		rules = nil
	}
	for i, f := range rules {
		g.Args = append(g.Args, readArgument(f, i == len(rules)-1))
	}
	if env := o.May("env"); env.Present() {
		g.Env = readNames(env, variableName)
	}
	g.OutputBytes = o.May("output_bytes").Uint64()
	g.AllowModelFlags = o.May("allow_model_flags").Bool()
	also := o.May("also").List()
	if len(also) > maxExact {
		o.May("also").Report("also has more than %d entries", maxExact)
		also = nil
	}
	for _, f := range also {
		g.Also = append(g.Also, readExact(f, g.Program))
	}
}

// readExact reads a program with its arguments; the program is the grant's unless
// it names another one.
func readExact(f artifact.Field, program string) Exact {
	o := f.Object()
	x := Exact{Program: program}
	if p := o.May("program"); p.Present() {
		if x.Program = p.Text(); p.Kind() == artifact.KindString && !isAbsolute(x.Program) {
			p.Report("program %.80q: write an absolute path without . and .. parts; nothing is looked up in PATH", x.Program)
		}
	}
	args := o.Need("args").List()
	if len(args) > maxArgumentRules {
		o.Need("args").Report("args has more than %d entries", maxArgumentRules)
		args = nil
	}
	for _, a := range args {
		if a.Kind() == artifact.KindNumber || a.Kind() == artifact.KindBool {
			a.Report("an argument is text; put it in quotes")
			continue
		}
		x.Args = append(x.Args, a.Text())
	}
	o.RefuseUnknown()
	return x
}

// isAbsolute accepts /usr/bin/git and C:\Program Files\Git\git.exe, in the form
// that names one file in one way.
func isAbsolute(path string) bool {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok && len(path) > 3 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') {
		rest, ok = strings.ReplaceAll(path[3:], `\`, "/"), true
	}
	if !ok || rest == "" || strings.ContainsRune(path, 0) {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

func variableName(s string) string {
	if s == "" || strings.ContainsAny(s, "=\x00") {
		return "write the name of a variable, without ="
	}
	return ""
}

func readArgument(f artifact.Field, last bool) Argument {
	if f.Kind() == artifact.KindNumber || f.Kind() == artifact.KindBool {
		f.Report("an argument is text; put it in quotes")
		return Argument{}
	}
	if f.Kind() == artifact.KindString {
		return Argument{Text: f.Text()}
	}
	o := f.Object()
	a := Argument{Pattern: o.Need("match").Text(), Repeat: o.May("repeat").Bool()}
	o.RefuseUnknown()
	if a.Pattern == "" && o.Has("match") {
		o.Need("match").Report("pattern is empty; write \"\" as the argument for an empty one, or .* for any")
	}
	if _, err := regexp.Compile(a.Pattern); err != nil {
		o.Need("match").Report("%v; patterns have RE2 syntax", err)
	}
	if a.Repeat && !last {
		f.Report("only the last argument may repeat")
	}
	return a
}

func readHTTP(o *artifact.Object, g *Grant) {
	g.Hosts = readNames(o.Need("hosts"), hostName)
	g.Methods = readNames(o.Need("methods"), methodName)
	if schemes := o.May("schemes"); schemes.Present() {
		g.Schemes = readNames(schemes, schemeName)
	}
	g.OutputBytes = o.May("output_bytes").Uint64()
}

// hostPattern is compiled when the first host is read.
var hostPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)
})

func hostName(s string) string {
	if !hostPattern().MatchString(s) {
		return "write a host in lower case, with :port if it is not the usual one; there are no wildcards"
	}
	return ""
}

func methodName(s string) string {
	if s == "" || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "write a method in upper case, such as GET"
	}
	return ""
}

func schemeName(s string) string {
	if s != "https" && s != "http" {
		return "is not one of https, http"
	}
	return ""
}
